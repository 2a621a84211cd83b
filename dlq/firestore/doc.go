// Package firestore is the dead-letter queue's Store over Cloud Firestore's own
// client. What commits, plain values and failed calls look like, relay/firestore
// shares with it.
package firestore
