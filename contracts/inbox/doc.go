// Package inbox makes a consumer idempotent: each event is handled once, in the order
// of its aggregate, however often and wherever its message arrives.
//
//	box := inbox.New(store, "notifications", inbox.Options{Catalog: catalog, DeadLetters: letters})
//	err := box.Receive(ctx, subscriber, box.Handle(func(ctx context.Context, e *inbox.Event) error {
//		return notify(ctx, e.Payload)
//	}))
//
// # What is guaranteed
//
// A message is acknowledged when its event was handled and marked so in the store, or
// stands in the dead-letter queue; never before. So nothing is lost, whatever ends the
// process, and a duplicate of a handled event is acknowledged without an effect for the
// retention, 7 days by default.
//
// Where the handler's effect and the store are two systems, no inbox can promise that the
// effect happens exactly once: a process may end after the effect and before the mark. Then
// the lease of its claim runs out, and the event is handled again: an effect happens
// at least once, and at most once more for each time that a process ends, a handler
// fails or hangs, or the store cannot be reached, between effect and mark. Without
// any of these it happens once, also when duplicates arrive at the same time. A handler
// whose effect is idempotent by itself, such as a write under the event's ID, needs no
// more than that.
//
// Where both are one database, HandleIn makes it exactly once: the handler gets the
// transaction in which its event is marked, so that the effect and the mark happen
// together or not at all. The stores on Firestore and on Postgres can do that.
//
//	receive := inbox.HandleIn(box, store, func(ctx context.Context, tx pgx.Tx, e *inbox.Event) error {
//		_, err := tx.Exec(ctx, `UPDATE wallets SET balance = balance - $1 WHERE id = $2`, amount, e.AggregateID)
//		return err
//	})
//
// # Order, and what waits
//
// An event that fails is tried again after 5 s, 30 s, 2 m and 10 m, and with the
// fifth failure it becomes a dead letter; where more tries are wanted, or there is no
// place for dead letters, each further one comes 30 m after the one before. The count
// stands in the store, so that a restart goes on with it. Later events of its aggregate wait behind it, others do not.
// What waits, waits in Pub/Sub and not in memory: its message is held for Options.Hold
// at most, and then given back, to be delivered again. So the subscription wants message
// ordering, which brings the events of an aggregate one after another, and a retry policy with a
// backoff (10 s to 600 s), which says how soon a message that was given back returns.
// A try then comes when its time has come and its message is there: a backoff makes it later, by
// as much as the backoff, and never earlier.
package inbox
