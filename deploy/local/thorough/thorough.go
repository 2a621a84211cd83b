// Package thorough keeps tests that take long out of the runs of everything, go
// test ./... and the same under the race detector, and out of those on Google's
// emulators. Those of the whole program are out of the first alone. A run that names
// its tests, as make test-thorough does, has them all, and so has every run where
// Variable is set.
package thorough

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"outboxrelay/deploy/local/google"
)

// Variable has every test run, however long it takes.
const Variable = "OUTBOX_RELAY_THOROUGH"

// EndToEndVariable has the tests of the whole program run in a run of everything,
// too, as make test-race does.
const EndToEndVariable = "OUTBOX_RELAY_E2E"

// Named reports whether this run names its tests, by -run.
func Named() bool {
	f := flag.Lookup("test.run")
	return f != nil && f.Value.String() != ""
}

// Long skips a test in a run of everything. It is called in the test itself, where
// make test-thorough finds it. CI fails if no run of it runs this one.
func Long(t testing.TB) {
	t.Helper()
	if !Named() && os.Getenv(Variable) == "" {
		t.Attr("needs", "time")
		t.Skipf("it takes long: make test-thorough runs it, and %s=1", Variable)
	}
}

// EndToEnd skips a test of the whole program, or of whole relays, in a run of
// everything that does not ask for them. CI fails if no run of it runs this one.
func EndToEnd(t testing.TB) {
	t.Helper()
	if !Whole() && os.Getenv(EndToEndVariable) == "" {
		t.Attr("needs", "time")
		t.Skipf("it takes a while: make test-race runs it, and %s=1", EndToEndVariable)
	}
}

// Whole reports whether this run has each case of a long table: a run of everything has a
// few of them, enough for the race detector. It is called in the test itself, where make
// test-thorough finds it.
func Whole() bool { return Named() || os.Getenv(Variable) != "" }

// NotOnGoogle skips a test on Google's emulators. CI fails if no other run of it
// runs this one.
func NotOnGoogle(t testing.TB) {
	t.Helper()
	if (os.Getenv(google.FirestoreVar) != "" || os.Getenv(google.PubSubVar) != "") && os.Getenv(Variable) == "" {
		t.Attr("needs", "time")
		t.Skipf("it takes long on Google's emulators: %s is unset", Variable)
	}
}

// Bulk is how many dead letters a test of bulk replays makes: 200, or what
// OUTBOX_RELAY_BULK says, as make bulk does.
func Bulk(t testing.TB) int {
	t.Helper()
	return number(t, "OUTBOX_RELAY_BULK", "dead letters", 200)
}

// Backlog is how many records stand before a relay whose bill a test reads: 1,000,
// or what OUTBOX_RELAY_BACKLOG says, as make bill does.
func Backlog(t testing.TB) int {
	t.Helper()
	return number(t, "OUTBOX_RELAY_BACKLOG", "records", 1000)
}

// DeliveredOnce is how many records a test delivers once each: n, or what
// OUTBOX_RELAY_DELIVERED_ONCE says, as make delivered-once does.
func DeliveredOnce(t testing.TB, n int) int {
	t.Helper()
	return number(t, "OUTBOX_RELAY_DELIVERED_ONCE", "records", n)
}

// Kills is how often a test kills an instance: 5 times, or what OUTBOX_RELAY_KILLS says,
// as make siege does.
func Kills(t testing.TB) int {
	t.Helper()
	return number(t, "OUTBOX_RELAY_KILLS", "kills", 5)
}

// Crowd is how many events of one tenant another's one comes beside: 500, or what
// OUTBOX_RELAY_CROWD says, as make siege does.
func Crowd(t testing.TB) int {
	t.Helper()
	return number(t, "OUTBOX_RELAY_CROWD", "events", 500)
}

// Rate is how many records a second a simulation of sizes takes at most: 1,000, or what
// OUTBOX_RELAY_SCALE says, as make scale does.
func Rate(t testing.TB) float64 {
	t.Helper()
	return float64(number(t, "OUTBOX_RELAY_SCALE", "records a second", 1000))
}

// number is what a variable says, or usual.
func number(t testing.TB, variable, of string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number of %s", variable, text, of)
	}
	return n
}
