// Holds a Firestore server to what producers in Node do with it: append in a
// transaction, query, page, listen, count. The server is the one that
// FIRESTORE_EMULATOR_HOST names. Prints a line for each check; exits with 1 when
// one fails.
import assert from 'node:assert/strict';
import { FieldPath, FieldValue, Filter, Firestore, Timestamp } from '@google-cloud/firestore';

if (!process.env.FIRESTORE_EMULATOR_HOST) {
  console.error('FIRESTORE_EMULATOR_HOST names no server');
  process.exit(2);
}
process.env.METADATA_SERVER_DETECTION ??= 'none'; // nothing here runs on Google's machines
const db = new Firestore({ projectId: 'nodecheck' });
// Collections have fixed IDs, for which firestore.indexes.json has indexes, below a document of this run.
const run = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
const outbox = db.doc(`nodecheck/${run}`).collection('outbox');
const ids = (snapshot) => snapshot.docs.map((doc) => doc.id);
const bound = 120_000; // in ms, for each check: an emulator on a busy machine stalls for seconds
let failed = 0;

async function check(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${bound} ms`)), bound);
  });
  try {
    await Promise.race([run(), late]);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.message}`);
  } finally {
    clearTimeout(timer);
  }
}

// listen collects a query's snapshots and hands them out one by one.
function listen(query) {
  const arrived = [];
  let waiting;
  const settle = (entry) => (waiting ? (waiting(entry), (waiting = undefined)) : arrived.push(entry));
  const stop = query.onSnapshot((snapshot) => settle({ snapshot }), (error) => settle({ error }));
  return {
    stop,
    async next() {
      const { snapshot, error } = arrived.shift() ?? (await new Promise((resolve) => (waiting = resolve)));
      if (error) throw error;
      return snapshot;
    },
  };
}

const changes = (snapshot) => snapshot.docChanges().map((c) => `${c.type} ${c.doc.id}`);

await check('append in a transaction, with a server timestamp', async () => {
  await db.runTransaction(async (tx) => {
    const seen = await tx.get(outbox.doc('r0'));
    assert.equal(seen.exists, false);
    for (let i = 0; i < 6; i++) {
      tx.create(outbox.doc(`r${i}`), {
        lane: i % 2 ? 'STANDARD_LANE' : 'CRITICAL_LANE', status: 'pending', aggregateVersion: i,
        createdAt: FieldValue.serverTimestamp(), payload: { amount: i * 1.5, tags: ['a', 'b'] },
      });
    }
  });
  const first = await outbox.doc('r0').get();
  assert.ok(first.get('createdAt') instanceof Timestamp);
  const last = await outbox.doc('r5').get();
  assert.ok(first.get('createdAt').isEqual(last.get('createdAt')));
  assert.ok(first.updateTime.isEqual(last.updateTime));
});

await check('a transaction that reads a query, and one that only reads', async () => {
  const n = await db.runTransaction(async (tx) => (await tx.get(outbox.where('status', '==', 'pending'))).size);
  assert.equal(n, 6);
  const only = await db.runTransaction(async (tx) => (await tx.getAll(outbox.doc('r1'), outbox.doc('none'))).map((d) => d.exists), { readOnly: true });
  assert.deepEqual(only, [true, false]);
});

await check('a transaction that loses tries again', async () => {
  const counter = db.collection(`counter-${run}`).doc('n');
  await counter.set({ n: 0 });
  await Promise.all([1, 2, 3].map(() => db.runTransaction(async (tx) => {
    const n = (await tx.get(counter)).get('n');
    tx.update(counter, { n: n + 1 });
  }, { maxAttempts: 20 })));
  assert.equal((await counter.get()).get('n'), 3);
});

await check('filters and order', async () => {
  const critical = outbox.where('lane', '==', 'CRITICAL_LANE').where('status', '==', 'pending').orderBy('createdAt').orderBy('aggregateVersion');
  assert.deepEqual(ids(await critical.get()), ['r0', 'r2', 'r4']);
  assert.deepEqual(ids(await outbox.where('aggregateVersion', '>', 3).get()), ['r4', 'r5']);
  assert.deepEqual(ids(await outbox.where('aggregateVersion', 'in', [1, 3, 9]).get()), ['r1', 'r3']);
  assert.deepEqual(ids(await outbox.where('lane', 'not-in', ['STANDARD_LANE']).get()), ['r0', 'r2', 'r4']);
  assert.deepEqual(ids(await outbox.where('payload.tags', 'array-contains', 'b').limit(1).get()), ['r0']);
  assert.deepEqual(ids(await outbox.where(Filter.or(Filter.where('aggregateVersion', '==', 0), Filter.where('aggregateVersion', '==', 5))).get()), ['r0', 'r5']);
  assert.deepEqual(ids(await outbox.where(FieldPath.documentId(), '>=', 'r4').get()), ['r4', 'r5']);
});

await check('limits and cursors', async () => {
  const ordered = outbox.orderBy('aggregateVersion');
  assert.deepEqual(ids(await ordered.limit(2).get()), ['r0', 'r1']);
  assert.deepEqual(ids(await ordered.limitToLast(2).get()), ['r4', 'r5']);
  assert.deepEqual(ids(await ordered.startAfter(1).limit(2).get()), ['r2', 'r3']);
  assert.deepEqual(ids(await ordered.startAt(await outbox.doc('r3').get()).endBefore(5).get()), ['r3', 'r4']);
  assert.deepEqual(ids(await ordered.offset(4).get()), ['r4', 'r5']);
  assert.deepEqual((await ordered.select('status').limit(1).get()).docs[0].data(), { status: 'pending' });
});

await check('count, sum and average', async () => {
  assert.equal((await outbox.where('status', '==', 'pending').count().get()).data().count, 6);
});

await check('transforms and field paths', async () => {
  const doc = db.collection(`odd-${run}`).doc('d');
  await doc.set({ n: 1, 'a.b': 1, list: [1] });
  await doc.update(new FieldPath('a.b'), 2, 'n', FieldValue.increment(2), 'list', FieldValue.arrayUnion(1, 2));
  assert.deepEqual((await doc.get()).data(), { n: 3, 'a.b': 2, list: [1, 2] });
  await doc.set({ list: FieldValue.arrayRemove(1), n: FieldValue.delete() }, { merge: true });
  assert.deepEqual((await doc.get()).data(), { 'a.b': 2, list: [2] });
});

await check('preconditions', async () => {
  await assert.rejects(outbox.doc('r0').create({}), { code: 6 });
  await assert.rejects(outbox.doc('none').update({ x: 1 }), { code: 5 });
  const stale = (await outbox.doc('r0').get()).updateTime;
  await outbox.doc('r0').update({ touched: 1 });
  await assert.rejects(outbox.doc('r0').update({ touched: 2 }, { lastUpdateTime: stale }), { code: 9 });
});

await check('a listener through a limited window', async () => {
  const window = listen(outbox.where('status', '==', 'pending').orderBy('aggregateVersion').limit(3));
  try {
    assert.deepEqual(changes(await window.next()), ['added r0', 'added r1', 'added r2']);
    await db.batch().update(outbox.doc('r0'), { status: 'delivered' }).update(outbox.doc('r1'), { status: 'delivered' }).commit();
    const refilled = await window.next();
    assert.deepEqual(changes(refilled), ['removed r0', 'removed r1', 'added r3', 'added r4']);
    assert.deepEqual(ids(refilled), ['r2', 'r3', 'r4']);
    await outbox.doc('early').set({ status: 'pending', aggregateVersion: -1 });
    assert.deepEqual(changes(await window.next()), ['removed r4', 'added early']);
    await outbox.doc('r2').update({ touched: 1 });
    assert.deepEqual(changes(await window.next()), ['modified r2']);
    await outbox.doc('early').delete();
    assert.deepEqual(changes(await window.next()), ['removed early', 'added r4']);
  } finally {
    window.stop();
  }
});

await check('a listener on a document', async () => {
  const doc = listen(outbox.doc('watched'));
  try {
    assert.equal((await doc.next()).exists, false);
    await outbox.doc('watched').set({ n: 1 });
    assert.deepEqual((await doc.next()).data(), { n: 1 });
    await outbox.doc('watched').delete();
    assert.equal((await doc.next()).exists, false);
  } finally {
    doc.stop();
  }
});

await check('bulk writer', async () => {
  const writer = db.bulkWriter();
  for (let i = 0; i < 50; i++) writer.set(outbox.doc(`bulk${i}`), { bulk: true });
  await writer.close();
  assert.equal((await outbox.where('bulk', '==', true).count().get()).data().count, 50);
});

await check('a collection group, and what a document holds', async () => {
  const group = 'outbox-group';
  await outbox.doc('r5').collection(group).doc('x').set({ n: 1, run });
  await outbox.doc('gone').collection(group).doc('y').set({ n: 2, run });
  assert.deepEqual(ids(await db.collectionGroup(group).where('run', '==', run).orderBy('n').get()), ['x', 'y']);
  assert.deepEqual((await outbox.doc('r5').listCollections()).map((c) => c.id), [group]);
  assert.ok((await outbox.listDocuments()).some((doc) => doc.id === 'gone'));
});

await db.terminate();
console.log(failed ? `${failed} checks failed` : 'all checks passed');
process.exit(failed ? 1 : 0);
