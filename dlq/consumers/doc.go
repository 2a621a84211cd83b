// Package consumers puts what a consumer could not handle into the dead-letter queue, for
// the inboxes of package contracts/inbox:
//
//	client, err := firestore.Open(ctx, project, database) // of package dlq/firestore
//	box := inbox.New(store, "notifications", inbox.Options{DeadLetters: consumers.New(dlqfirestore.New(client), catalog)})
//
// Such a dead letter stands beside those of the relay, in the same collection, with the
// consumer's name, and is found, decided about and replayed like them. Its ID is
// {idempotencyKey}@{consumer}. It waits for an operator, also where its event is SAFE_AUTO:
// its tries by schedule are over. One that is SECURITY_BLOCK waits for the role security, but
// freezes nothing, as its record was delivered. A replay goes to its topic with
// the attribute consumer, and the inboxes of all other consumers acknowledge it
// without an effect.
package consumers
