// Appends an event of each type that the catalog's golden files hold, for a relay to deliver, and prints the keys.
import { readdirSync, readFileSync } from 'node:fs';
import { Firestore } from '@google-cloud/firestore';
import { Outbox } from '../default.js';
import type { Event } from '../default.js';

const db = new Firestore({ projectId: process.env.GOOGLE_CLOUD_PROJECT! });
const events = new Outbox(db);
const directory = process.argv[2]!;
for (const [aggregateVersion, file] of readdirSync(directory).entries()) {
  const { outbox, record, faults } = JSON.parse(readFileSync(`${directory}/${file}`, 'utf8'));
  if (faults.length > 0) continue;
  const event = {
    outbox, type: record.eventType, aggregateId: `node-${outbox}`, aggregateVersion, payload: { ...record.payload, accountId: `node-${outbox}` },
  } as unknown as Event;
  const [result] = await db.runTransaction((tx) => events.append(tx, event));
  console.log(JSON.stringify({ outbox, eventType: event.type, key: result!.idempotencyKey, traceId: result!.traceId }));
}
await db.terminate();
