// What does not compile: tsc fails where an error that is expected here is missing.
import type { Event } from '../default.js';

const at = { aggregateId: 'acc-1', aggregateVersion: 1 };

export const events: Event[] = [
  { ...at, type: 'WalletCredited', payload: { accountId: 'acc-1', amount: 25, note: 'others are allowed' } },
  { ...at, type: 'WalletCredited', outbox: 'accOutbox', version: 1, payload: {} },
  { ...at, type: 'ScheduleProposed', payload: { anything: [1, { two: 3 }] } },
  { ...at, type: 'CompensatingRefund', outbox: 'schedOutbox', payload: {} },
  { ...at, type: 'WorkspaceRenamed', outbox: 'wsOutbox', payload: {} },
  { ...at, type: 'AuditEvent', outbox: 'tagOutbox', payload: {} },
  // @ts-expect-error a payload that the schema refuses: another type
  { ...at, type: 'WalletCredited', payload: { accountId: 7 } },
  // @ts-expect-error a payload that the schema refuses, further inside
  { ...at, type: 'RoleChanged', payload: { roles: [7] } },
  // @ts-expect-error a payload that is no object
  { ...at, type: 'WalletCredited', payload: 'text' },
  // @ts-expect-error no payload
  { ...at, type: 'WalletCredited' },
  // @ts-expect-error a misspelt type
  { ...at, type: 'WalletCreditd', payload: {} },
  // @ts-expect-error another slice's outbox
  { ...at, type: 'WalletCredited', outbox: 'orgOutbox', payload: {} },
  // @ts-expect-error a version that the catalog does not declare
  { ...at, type: 'WalletCredited', version: 2, payload: {} },
  // @ts-expect-error several outboxes declare it
  { ...at, type: 'AuditEvent', payload: {} },
  // @ts-expect-error no aggregate
  { type: 'WalletCredited', aggregateVersion: 1, payload: {} },
];
