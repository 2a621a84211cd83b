// Package google starts Google's own Firestore, Pub/Sub and Auth emulators, for tests
// and benches. They are the judge of the embedded cloud: where the two differ,
// the embedded one is wrong.
//
// Those for Firestore and Pub/Sub are Java programs of the Cloud SDK. Locate finds
// them, and its errors say what to install. The one for Auth is the part of
// firebase-tools that folder firebase pins, and serves without the rest. Each runs on
// a free port of the loopback interface, in a process group of its own, and keeps its
// data in memory. It ends with Stop; on Linux the kernel ends it too when this process
// dies, however it dies.
//
// A test takes a running emulator from FirestoreVar, PubSubVar or AuthVar and skips
// when the variable is unset. The command google-emulators sets them for the program
// that it wraps.
package google

// What tests read: HOST:PORT of a running emulator. They are not the variables
// that Google's clients obey, so that a test never reaches an emulator by accident.
const (
	FirestoreVar = "OUTBOX_RELAY_GOOGLE_FIRESTORE"
	PubSubVar    = "OUTBOX_RELAY_GOOGLE_PUBSUB"
	AuthVar      = "OUTBOX_RELAY_GOOGLE_AUTH"
)

// What Google's clients obey: HOST:PORT of the emulator to use in place of the cloud.
const (
	FirestoreClientVar = "FIRESTORE_EMULATOR_HOST"
	PubSubClientVar    = "PUBSUB_EMULATOR_HOST"
	AuthClientVar      = "FIREBASE_AUTH_EMULATOR_HOST"
)
