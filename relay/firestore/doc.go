// Package firestore is the relay's Store over Cloud Firestore's own client. It
// is the only place in relay that knows the SDK.
package firestore
