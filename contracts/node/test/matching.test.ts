// A catalog that makes aggregates and keys of the payload.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Firestore } from '@google-cloud/firestore';
import { InvalidError, Outbox } from '../matching.js';
import type { Event } from '../matching.js';

const events = new Outbox(new Firestore({ projectId: 'nowhere' }));
const id = '0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c';

for (const want of JSON.parse(readFileSync(new URL('../../../testdata/matchingkeys.json', import.meta.url), 'utf8'))) {
  const { type, aggregateVersion, payload } = want;
  test(`the aggregate and the key of ${type}`, () => {
    const { data, ref } = events.records({ type, aggregateVersion, payload } as Event)[0]!;
    const { aggregateId, eventId, idempotencyKey } = data;
    assert.deepEqual({ type, aggregateVersion, payload, outbox: ref.parent.id, aggregateId, eventId, idempotencyKey }, want);
  });
  test(`another aggregate of ${type} is refused`, () => {
    assert.throws(() => events.records({ type, aggregateVersion, aggregateId: 'another', payload } as Event), /aggregateId is not \{payload/);
  });
}

test('what is missing in the payload is told once', () => {
  // @ts-expect-error a payload that the schema refuses: properties are missing
  const event: Event = { type: 'chat.message_sent', aggregateVersion: 1, payload: { message_id: id } };
  assert.throws(() => events.records(event), (error: InvalidError) => {
    const fields = error.events[0]!.faults.map((f) => f.field);
    assert.ok(fields.includes('payload.match_id'));
    return new Set(fields).size === fields.length;
  });
});

test('a time is stored as a timestamp, and passes for its text', () => {
  const { data } = events.records({
    type: 'match.accepted', aggregateVersion: 1,
    payload: { accepted_at: new Date('2026-02-19T12:10:00Z'), actor_user_id: id, counterparty_user_id: id, match_id: id, mutual: true, offer_id: id },
  })[0]!;
  assert.equal(data.payload.accepted_at.toDate().toISOString(), '2026-02-19T12:10:00.000Z');
});

// @ts-expect-error a value that the schema does not allow
export const refused: Event = { type: 'match.offer_generated', aggregateVersion: 1, payload: { batch_date: '2026-02-19', candidate_user_id: id, expires_at: '2026-02-25T09:00:00Z', offer_id: id, offer_type: 'weekly', score: { authenticity: 1, composite: 1, psychological: 1, visual: 1 }, user_id: id } };
