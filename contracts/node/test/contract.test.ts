// What needs no server: the golden files that Go is held to, and what is refused at run time.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { Firestore, GeoPoint, FieldValue, Timestamp } from '@google-cloud/firestore';
import { context, trace, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Context, ContextManager } from '@opentelemetry/api';
import { InvalidError, Outbox, eventIdOf, eventIdOfKey, shardOf } from '../default.js';
import type { Event, Fault } from '../default.js';

const testdata = new URL('../../../testdata/', import.meta.url);
const json = (name: string) => JSON.parse(readFileSync(new URL(name, testdata), 'utf8'));
const events = new Outbox(new Firestore({ projectId: 'nowhere' }));

// said is what a producer would say to have such a record.
const said = (outbox: string, r: any): Event => ({
  outbox, type: r.eventType, aggregateId: r.aggregateId, aggregateVersion: r.aggregateVersion, payload: r.payload, eventId: r.eventId,
  traceId: r.traceId, ...(r.eventVersion ? { version: r.eventVersion } : {}), ...(r.aggregateType ? { aggregateType: r.aggregateType } : {}),
  occurredAt: new Timestamp(Math.floor(Date.parse(r.occurredAt) / 1000), Number((/\.(\d+)/.exec(r.occurredAt)?.[1] ?? '').padEnd(9, '0'))),
} as Event);

const faultsOf = (event: unknown): string[] => {
  try {
    events.records(event as Event);
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    return error.events[0]!.faults.map((f: Fault) => (f.field ? `${f.field} ${f.problem}` : f.problem));
  }
  return [];
};

for (const file of readdirSync(new URL('golden/', testdata))) {
  // What no producer with a catalog writes: fields that are missing, mistyped or another catalog's.
  if (/invalid-(missing|null|mistyped|lane|idempotency)|shard-of-no-use/.test(file)) continue;
  const golden = json(`golden/${file}`);
  if (golden.faults.length > 0) {
    test(`${file} is refused`, () => assert.deepEqual(faultsOf(said(golden.outbox, golden.record)).sort(), golden.faults.sort()));
    continue;
  }
  test(`${file} is what is appended`, () => {
    const [record] = events.records(said(golden.outbox, golden.record));
    const { createdAt: _, traceparent: __, ...want } = golden.record;
    const got = { ...record!.data, occurredAt: want.occurredAt };
    delete (got as any).createdAt;
    assert.deepEqual(got, {
      ...want, lane: golden.lane, dlqTier: golden.tier, eventVersion: golden.envelope.event_version, producer: golden.envelope.producer,
    });
    assert.equal(record!.data.occurredAt.toDate().getTime(), Date.parse(want.occurredAt));
    assert.equal(record!.ref.path, `${golden.outbox}/${want.idempotencyKey}`);
  });
}

test('event IDs are those that Go derives', () => {
  for (const e of json('eventids.json')) assert.equal(e.key ? eventIdOfKey(e.outbox, e.eventType, e.eventVersion, e.key) : eventIdOf(e.outbox, e.eventType, e.eventVersion, e.aggregateId, e.aggregateVersion), e.eventId);
});

test('shards are those that Go computes', () => {
  for (const { aggregateId, shards, shard } of json('shards.json')) assert.equal(shardOf(aggregateId, shards), shard);
});

const note = (payload: unknown) => ({ type: 'Noted', outbox: 'wsOutbox', aggregateId: 'ws-1', aggregateVersion: 1, payload });
const nested = (n: number): any => (n === 0 ? 'deep' : { in: nested(n - 1) });

for (const [name, payload, want] of [
  ['nothing', undefined, 'payload is missing'],
  ['no object', [1], 'payload is an array, want an object'],
  ['an undefined', { a: undefined }, 'payload.a is undefined, which JSON cannot carry'],
  ['a bigint', { a: 1n }, 'payload.a is a bigint, which JSON cannot carry'],
  ['no number', { a: [NaN] }, 'payload.a[0] is not a finite number'],
  ['a place', { a: new GeoPoint(1, 2) }, 'payload.a is a GeoPoint, which JSON cannot carry'],
  ['a transform', { a: FieldValue.increment(1) }, 'which JSON cannot carry'],
  ['half a character', { a: '\ud800' }, 'payload.a is not valid Unicode'],
  ['a list in a list', { a: [1, []] }, 'payload.a[1] is an array directly within an array'],
  ['a reserved name', { a: { __x__: 1 } }, 'payload.a has a key that is reserved'],
  ['an empty name', { '': 1 }, 'payload has a key that is empty'],
  ['a long name', { ['x'.repeat(1500)]: 1 }, 'payload has a key that makes a path of more than 1500 bytes'],
  ['too deep', nested(21), 'lies deeper than 20 levels'],
  ['a long text', { a: 'x'.repeat((1 << 20) - 88) }, 'payload.a is 1048488 bytes long'],
  ['a large document', { a: 'x'.repeat(600_000), b: Buffer.alloc(500_000) }, 'makes a document of 1100'],
  ['a time before the first', { a: new Date(-62_135_596_800_001) }, 'payload.a is no timestamp'],
] as const) {
  test(`refused at run time: ${name}`, () => {
    const faults = faultsOf(note(payload));
    assert.ok(faults.some((f) => f.includes(want)), `${want} is not among ${faults.join('; ').slice(0, 300)}`);
  });
}

test('all faults of all events come at once, and hold no values', () => {
  const bad = { type: 'WalletCredited', aggregateId: '', aggregateVersion: -1, eventId: '7', payload: { accountId: 7, amount: 's3cret' } };
  assert.throws(() => events.records(bad as unknown as Event, note({}) as Event, { ...note({}), type: 'Surprise', outbox: undefined } as unknown as Event), (error: InvalidError) => {
    assert.deepEqual(error.events.map((e) => [e.index, e.outbox, e.faults.length]), [[0, 'accOutbox', 5], [2, '', 1]]);
    return !error.message.includes('s3cret');
  });
});

test('no outbox has the name of what every object has', () => {
  for (const outbox of ['constructor', 'toString', '__proto__', 'nowhere']) {
    assert.deepEqual(faultsOf({ ...note({}), outbox }), [`lies in outbox "${outbox}", which the catalog does not declare`]);
  }
});

test('what is within the limits is accepted', () => {
  for (const payload of [nested(20), { ['x'.repeat(1492)]: true }, { a: 'x'.repeat((1 << 20) - (16 << 10) - 800) }, { b: new Uint8Array(3), t: new Date(), n: null }]) {
    assert.deepEqual(faultsOf(note(payload)), []);
  }
});

test('the trace is that of the active span', () => {
  const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
  let active: Context = ROOT_CONTEXT;
  const manager: ContextManager = {
    active: () => active,
    with: (c, f, self, ...args) => { const before = active; active = c; try { return f.call(self as any, ...args); } finally { active = before; } },
    bind: (_, target) => target, enable() { return this; }, disable() { return this; },
  };
  context.setGlobalContextManager(manager);
  const [record] = context.with(trace.setSpanContext(ROOT_CONTEXT, span), () => events.records(note({}) as Event));
  assert.equal(record!.data.traceId, span.traceId);
  assert.equal(record!.data.traceparent, `00-${span.traceId}-${span.spanId}-01`);
  const [alone] = events.records(note({}) as Event);
  assert.match(alone!.data.traceId, /^[0-9a-f]{32}$/);
  assert.equal(alone!.data.traceparent, undefined);
});
