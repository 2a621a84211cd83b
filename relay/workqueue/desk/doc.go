// Package desk is where people look at work queues and decide about what is in them: how many
// documents have which status, which they are, what is known of one, and that one that came to
// a bad end is tried again.
//
// It needs no instance that runs the queues: all but [Desk.Here] is read from Firestore.
package desk
