// Package thorough keeps tests that take long out of the two runs in which they
// take longest, those under the race detector and on Google's emulators. They
// run in every other, and in these too where Variable is set.
package thorough

import (
	"os"
	"strconv"
	"testing"

	"outboxrelay/deploy/local/google"
)

// Variable has every test run, however long it takes.
const Variable = "OUTBOX_RELAY_THOROUGH"

// NotUnderRace skips a test under the race detector: what it shows has another
// test that runs there. CI fails if no other run of it runs this one.
func NotUnderRace(t testing.TB) {
	t.Helper()
	if underRace && os.Getenv(Variable) == "" {
		t.Attr("needs", "time")
		t.Skipf("it takes long under the race detector: %s is unset", Variable)
	}
}

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
