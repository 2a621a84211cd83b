// Package google starts Google's own Firestore and Pub/Sub emulators, for tests
// and benches. They are the judge of the embedded cloud: where the two differ,
// the embedded one is wrong.
//
// The emulators are Java programs of the Cloud SDK. Locate finds them, and its
// errors say what to install. Each runs on a free port of the loopback interface,
// in a process group of its own, and keeps its data in memory. It ends with Stop;
// on Linux the kernel ends it too when this process dies, however it dies.
//
// A test takes a running emulator from FirestoreVar or PubSubVar and skips when
// the variable is unset. The command google-emulators sets both for the program
// that it wraps.
package google

// What tests read: HOST:PORT of a running emulator. They are not the variables
// that Google's clients obey, so that a test never reaches an emulator by accident.
const (
	FirestoreVar = "OUTBOX_RELAY_GOOGLE_FIRESTORE"
	PubSubVar    = "OUTBOX_RELAY_GOOGLE_PUBSUB"
)

// What Google's clients obey: HOST:PORT of the emulator to use in place of the cloud.
const (
	FirestoreClientVar = "FIRESTORE_EMULATOR_HOST"
	PubSubClientVar    = "PUBSUB_EMULATOR_HOST"
)
