// Package firestore keeps an inbox in Firestore, which may be the database that the handlers
// write to: then inbox.HandleIn makes an effect and its mark one transaction.
//
//	store := firestore.New(client)
//	receive := inbox.HandleIn(box, store, func(ctx context.Context, tx *firestore.Transaction, e *inbox.Event) error {
//		return tx.Create(client.Collection("notifications").Doc(e.EventID), notification)
//	})
//
// Each event has one document in the collection inbox-events. An event that is handled at the
// first try costs two reads at its claim, one at its end, and two writes. What
// Firestore has not removed yet is taken as gone once its time is over. The TTL policy on
// expireAt, and the exemptions of fields that nobody asks for, are in deploy/firestore and
// deploy/terraform; queries need the single-field index on gate alone, which Firestore makes
// by itself.
//
// Times are those of the server's commits and reads, but for the end of a lease and the next
// try, which a process adds to the server's time: its own clock plays no part.
package firestore
