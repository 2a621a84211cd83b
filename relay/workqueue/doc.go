// Package workqueue sees to Firestore documents that somebody must act on: jobs,
// notifications. One engine serves any queue; a queue is a [Vocabulary], which says
// what its documents' fields and statuses are called, and a [Handler], which acts.
//
// The way of a document: it is found, waits in the line until it is due and its
// tenant's turn has come, is claimed, handled, and settled.
//
// # How it is found
//
// By a listener of the newest pending ones, at once; and by a round over all that is
// pending or processing, every minute, whatever fields they lack. So neither a
// listener that is silent nor a schedule that is slow delays much. A round goes
// through the documents by name, which is by tenant, takes at most a batch of each
// (50), and jumps to the next; what it left behind of a tenant is gone on with as soon as that
// tenant's line is almost empty, from the first name on that is not known here. A round that
// finds what the listener should have shown has it rebuilt.
//
// # Whose turn it is
//
// Each tenant has a line of its own, of a batch at most, and the workers take from
// one tenant after the other. A tenant with thousands delays another's one by what
// the workers have in hand.
//
// # Who has it
//
// A claim reads the document, refuses unless it is pending and due, or processing
// with a lease that has run out, and writes status, lease and a token that no other
// claim has, in one commit that Firestore refuses if the document has changed since
// it was read. So it is a transaction of one document, but locks none while it lasts:
// what an instance leaves behind that dies in the middle of it holds up nobody. The
// document is closed in the same way, and changed by nobody whose token does not
// stand any more: see [ErrLost]. What others change of it in between is kept. A lost
// answer is no doubt for long: the next try reads whether the last one was applied.
//
// All times are the server's: leases and due times are judged by the time at which
// the server read the document, so that no instance's clock takes part. An instance
// trusts its lease for four fifths of the term, counted from before it asked; then the handler's
// context ends.
//
// Several instances need nothing of each other. One that lost a race for a document
// waits a little before its next claims for a while, each document for a time of its own
// at each instance, in an order of its own, so that the others' listeners have told of a claim before
// it is tried in vain.
//
// # What becomes of it
//
// The handler says what closes the document ([Outcome]), with other documents that are
// created by the same commit. An error is a failed attempt: the document
// is pending again, due after the vocabulary's backoff, or dead after the last attempt or a
// [Permanent] error. A panic is a failed attempt. A document whose worker died is
// claimed again once its lease has run out ([Claim].Reclaimed), and that was an attempt, too. A stop lets
// handlers end; who does not end in time gives the claim back, and that was none.
package workqueue
