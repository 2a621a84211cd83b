// Package publisher carries the rows of outbox_events that are not published to a Pub/Sub topic,
// and marks each once it was acknowledged: every row goes out at least once, and those of one
// aggregate in the order (created_at, id).
//
// # How several publishers keep the order
//
// A round is one transaction. Its claim locks the oldest unpublished row of an aggregate, its head,
// with FOR UPDATE SKIP LOCKED, and then the rows behind it. The locks stay until the marks are
// committed, so that nobody else publishes a row that another one has; and whoever does not have
// the head of an aggregate has nothing of it, so that two publishers never have one aggregate.
// Of what was locked only the piece without a gap from the head on is published. It ends at a row
// that another publisher holds, which can only be where a transaction with an older created_at
// was committed late, and at a parked one.
//
// A publisher that dies, or whose connection does, loses its locks with its transaction, and its
// rows are claimed anew. What it has on its way to the topic may arrive after that, as duplicates:
// it is a run from a head on as well, so that the first deliveries are in order all the same.
//
// # What a failure means
//
// As for the relay, whose router and circuit breaker this package uses (package ier): an outage
// counts no attempt. What the topic refuses counts one, its aggregate waits in this process, and at
// MaxAttempts the row is parked: it holds back its aggregate, and nothing else, until Retry.
package publisher
