// Package dlq is the dead-letter queue: what stands there, under which tier and in
// which state, and every change of it. It holds dead letters, the freezes and alerts
// that some of them bring, bulk replays, and the audit of what was done.
//
// What goes on in it has a room for each: replayer delivers again what is due, review
// measures what waits for a person, freezer publishes alerts and finishes releases,
// bulk runs the bulk replays, follower tells who looks on of changes, trace finds the
// way of records. The first three run as sibling goroutines beside the relay; sibling
// is what supervises them. Each room declares what it needs of the Queue, and knows
// no other room.
package dlq
