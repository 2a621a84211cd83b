// Package publisher carries the rows of outbox_events that are not published to a Pub/Sub topic,
// and marks each once it was acknowledged: every row goes out at least once, and those of one
// aggregate in the order (created_at, id).
//
// # How several publishers keep the order
//
// A round is one transaction. Its claim locks rows with FOR UPDATE SKIP LOCKED until the marks are
// committed, so that nobody else publishes a row that another one has. In the same snapshot it counts
// the place of each among the unpublished rows of its aggregate. Of what was locked only the piece
// without a gap from the first place on, the head, is published: whoever does not have the head of an
// aggregate publishes nothing of it. A gap is a row that another publisher has, or a parked one.
//
// Which rows a claim locks is a matter of speed alone. Usually it locks heads first and then what is
// behind them, so that two publishers never have one aggregate. In a backlog, which is seldom all
// of one aggregate, a near claim takes the oldest rows that nobody has, which costs the database a third,
// for as long as at least half of them may go. And while there is more than one round takes, and no other process
// is at work, a process has two of them under way, as two publishers would (assist.go). Both are done
// only where the optional index is.
//
// There, what a claim reads is bounded, whatever waits. Rows that a parked one holds back, or that others have, may be the oldest by
// hundreds of thousands: so a window is widened to a bound, and past that claims walk over aggregates, each on from where the last one
// stopped, until there is nothing left to pass by (walk.go). Until then a backlog is published in turns of its aggregates rather than
// by age.
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
