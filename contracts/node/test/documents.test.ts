// The documents of the matching catalog, as they stand in the Firestore of
// FIRESTORE_EMULATOR_HOST: those of the golden files, to which Go is held as well.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Firestore, Timestamp } from '@google-cloud/firestore';
import { InvalidError, Outbox } from '../matching.js';
import type { Event } from '../matching.js';

const testdata = new URL('../../../testdata/matching/', import.meta.url);

// said is what a producer would say to have such a record.
const said = (outbox: string, r: any): Event => ({
  outbox, type: r.eventType, version: r.eventVersion, aggregateType: r.aggregateType, aggregateId: r.aggregateId, aggregateVersion: r.aggregateVersion,
  payload: r.payload, eventId: r.eventId, traceId: r.traceId, occurredAt: time(r.occurredAt),
} as Event);

const time = (text: string) =>
  new Timestamp(Math.floor(Date.parse(text) / 1000), Number((/\.(\d+)/.exec(text)?.[1] ?? '').padEnd(9, '0')));

let projects = 0;

for (const file of readdirSync(testdata)) {
  if (file.includes('invalid-default-key')) continue; // what no producer with a catalog writes
  const golden = JSON.parse(readFileSync(new URL(file, testdata), 'utf8'));
  test(`the document of ${file}`, async () => {
    // A project of its own: some have one key.
    const db = new Firestore({ projectId: `${process.env.GOOGLE_CLOUD_PROJECT!}-${++projects}` });
    try {
      const events = new Outbox(db);
      const append = () => db.runTransaction((tx) => events.append(tx, said(golden.outbox, golden.record)));
      if (golden.faults.length > 0) {
        await assert.rejects(append(), (error: InvalidError) => {
          assert.deepEqual(error.events[0]!.faults.map((f) => (f.field ? `${f.field} ${f.problem}` : f.problem)).sort(), golden.faults.sort());
          return true;
        });
        assert.equal((await db.collection(golden.outbox).get()).size, 0);
        return;
      }
      const [result] = await append();
      const { createdAt: _, traceparent: __, ...want } = golden.record;
      const doc = await result!.ref.get();
      const { createdAt, ...got } = doc.data()!;
      assert.ok(Math.abs(createdAt.toMillis() - doc.createTime!.toMillis()) <= 1000); // a transform keeps milliseconds
      assert.equal(doc.ref.path, `${golden.outbox}/${want.idempotencyKey}`);
      assert.deepEqual(got, {
        ...want, lane: golden.lane, dlqTier: golden.tier, eventVersion: golden.envelope.event_version, producer: golden.envelope.producer,
        occurredAt: time(want.occurredAt),
      });
    } finally {
      await db.terminate();
    }
  });
}
