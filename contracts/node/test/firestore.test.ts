// What needs a Firestore: that of FIRESTORE_EMULATOR_HOST.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Firestore } from '@google-cloud/firestore';
import { CollisionError, Outbox } from '../default.js';
import type { Event } from '../default.js';
import { open } from './page.js';

const db = new Firestore({ projectId: process.env.GOOGLE_CLOUD_PROJECT! });
const events = new Outbox(db);
after(() => db.terminate());

const credited = (aggregateId: string, aggregateVersion: number, amount: number): Event => ({ type: 'WalletCredited', aggregateId, aggregateVersion, payload: { accountId: aggregateId, amount } });
const append = (...list: Event[]) => db.runTransaction(async (tx) => {
  const results = await events.append(tx, ...list);
  tx.set(db.doc('business/one'), { at: list[0]!.aggregateVersion });
  return results;
});

test('a second append is a repeat, and changes nothing', async () => {
  const [first] = await append(credited('a', 1, 25));
  assert.equal(first!.repeated, false);
  const before = await first!.ref.get();
  const [again, next] = await append(credited('a', 1, 25), credited('a', 2, 1));
  assert.deepEqual([again!.repeated, again!.eventId, again!.traceId, next!.repeated], [true, first!.eventId, first!.traceId, false]);
  assert.ok((await first!.ref.get()).updateTime!.isEqual(before.updateTime!));
});

test('another event under the same key is a collision, and nothing is written', async () => {
  const [first] = await append(credited('b', 1, 25));
  await assert.rejects(append(credited('b', 2, 1), credited('b', 1, 26)), (error: CollisionError) => {
    assert.deepEqual(error.collisions, [{ index: 1, document: first!.ref.path, differs: ['payload'] }]);
    return error instanceof CollisionError;
  });
  assert.equal((await db.collection('accOutbox').where('aggregateId', '==', 'b').get()).size, 1);
});

test('a key twice in one call is written once', async () => {
  const results = await append(credited('c', 1, 1), credited('c', 1, 1));
  assert.deepEqual(results.map((r) => r.repeated), [false, true]);
  await assert.rejects(append(credited('c', 2, 1), credited('c', 2, 2)), CollisionError);
});

test('of many at once one appends', async () => {
  const all = await Promise.all(Array.from({ length: 5 }, () => append(credited('d', 1, 1))));
  assert.equal(all.filter(([r]) => !r!.repeated).length, 1);
});

test('a batch fails as a whole, and compare tells why', async () => {
  const commit = async (...list: Event[]) => {
    const records = events.records(...list);
    const batch = db.batch();
    for (const record of records) batch.create(record.ref, record.data);
    const error = await batch.commit().then(() => undefined, (e) => e);
    return { records, code: error?.code };
  };
  assert.equal((await commit(credited('e', 1, 1))).code, undefined);
  const { records, code } = await commit(credited('e', 1, 1), credited('e', 2, 1));
  assert.equal(code, 6); // ALREADY_EXISTS
  assert.deepEqual((await events.compare(...records)).map((r) => r.repeated), [true, false]);
});

test('the page of docs opens an account once', async () => {
  assert.deepEqual([await open('page', 'zh-TW'), await open('page', 'zh-TW')], [true, false]);
});
