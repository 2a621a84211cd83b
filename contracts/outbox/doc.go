// Package outbox appends events to an outbox in the producer's own Firestore
// transaction, so that the business write and its event are committed together
// or not at all.
//
// The producer says what happened: event type, aggregate, version, payload. The
// rest comes from the catalog (outbox, lane, tier, producer, event version, shard)
// and from the context (the trace). Everything is checked as the relay will check
// it, and by Firestore's limits, before anything is written: what is accepted here
// is no breach of the contract there.
//
// There are three ways, which differ in what they cost and in what they tell:
//
//   - [Appender.Append], within a transaction and before its first write. It reads
//     each record's document first: one request more, one document read for each
//     event, and a lock on it until the commit. It tells a repeat (nothing is
//     written for that event) from a collision (an error).
//   - [Appender.Prepare] and [Prepared.Write] are the same in two steps, for a
//     transaction that has its own reads to do in between.
//   - [Appender.Records], for what cannot read, as a batch or a BulkWriter, and for a
//     transaction that should not pay for it: records to be created by the caller,
//     with Create. Nothing is read. A repeat makes the commit fail with AlreadyExists,
//     the business write with it; [Appender.Compare] then tells which record it was,
//     and whether it is a repeat or a collision, for a read of each. A BulkWriter
//     writes each document by itself: it is for what has no business write, such as
//     a backfill.
//
// # What a repeat is
//
// A record's document ID is made of its idempotency key. Unless the event brings an
// ID of its own, the event ID is derived from outbox, event type and version,
// aggregate and its version, so that the same step of the same aggregate is the same record however
// often a request is tried again. A second append of a key is a repeat if event type
// and version, aggregate and payload are the same; trace and times may differ. If
// they are not, two events claim the same place, and that is a collision.
//
// A repeat is known for as long as the first record's document is there: until its
// outbox's retention has passed since its delivery, or until the delivery where the
// outbox deletes what is delivered.
//
// # Jobs
//
// Emit is another way, for what should be done about an event rather than passed on: it creates a
// domain event, in domain_events, and its jobs, in outbox, which package
// relay/workqueue/jobs does. It needs no catalog.
package outbox
