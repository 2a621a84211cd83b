// Package thorough keeps tests that take long out of the two runs in which they
// take longest, those under the race detector and on Google's emulators. They
// run in every other, and in these too where Variable is set.
package thorough

import (
	"os"
	"testing"

	"outboxrelay/deploy/local/google"
)

// Variable has every test run, however long it takes.
const Variable = "OUTBOX_RELAY_THOROUGH"

// NotUnderRace skips a test under the race detector: what it shows has another
// test that runs there.
func NotUnderRace(t testing.TB) {
	t.Helper()
	if underRace && os.Getenv(Variable) == "" {
		t.Skipf("it takes long under the race detector: %s is unset", Variable)
	}
}

// NotOnGoogle skips a test on Google's emulators.
func NotOnGoogle(t testing.TB) {
	t.Helper()
	if (os.Getenv(google.FirestoreVar) != "" || os.Getenv(google.PubSubVar) != "") && os.Getenv(Variable) == "" {
		t.Skipf("it takes long on Google's emulators: %s is unset", Variable)
	}
}

// Size is how large a test makes what it works on: all, or fewer where it is said to
// take long.
func Size(all, underRaceDetector int) int {
	if underRace && os.Getenv(Variable) == "" {
		return underRaceDetector
	}
	return all
}
