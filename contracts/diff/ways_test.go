package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/diff"
)

// moved has the targets given and one event, of a lane, that goes to some of them.
func moved(t *testing.T, targets, lane, to string) *contracts.Catalog {
	t.Helper()
	c, err := contracts.ParseCatalog("c.yaml", []byte("targets: {"+targets+"}\noutboxes: [{name: box, slice: s, events: [{type: E, tier: SAFE_AUTO, lane: "+lane+", targets: ["+to+"]}]}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is appended is not all that a change of the way concerns: so is what waits.
func TestWhatWaitsIsToldOf(t *testing.T) {
	const one, two = "A: {kind: pubsub, topic: the-a}, B: {kind: pubsub, topic: the-b}", "A: {kind: pubsub, topic: the-a}, C: {kind: pubsub, topic: the-b}"
	const handlers = "A: {kind: pubsub, topic: the-a}, H: {kind: handler}, I: {kind: handler}"
	for _, c := range []struct {
		name    string
		was, is *contracts.Catalog
		want    []string
		about   string // within the first consequence
	}{
		{
			"a target more", moved(t, one, "STANDARD_LANE", "A"), moved(t, one, "STANDARD_LANE", "A, B"),
			[]string{"additive: box E v1 targets B is new"},
			"what is undelivered and what comes goes there as well",
		},
		{
			"a target of another name", moved(t, one, "STANDARD_LANE", "A, B"), moved(t, two, "STANDARD_LANE", "A, C"),
			[]string{"heed: target B is gone", "heed: box E v1 targets C is new, in place of B on the same topic", "additive: target C is new"},
			"",
		},
		{
			"a target of another topic", moved(t, one, "STANDARD_LANE", "A"), moved(t, one, "STANDARD_LANE", "B"),
			[]string{"breaking: box E v1 targets A is gone", "additive: box E v1 targets B is new"},
			"",
		},
		{
			"handlers have no topic in common", moved(t, handlers, "STANDARD_LANE", "H"), moved(t, handlers, "STANDARD_LANE", "I"),
			[]string{"breaking: box E v1 targets H is gone", "additive: box E v1 targets I is new"},
			"",
		},
		{
			"a lane that the outbox has no more", moved(t, one, "STANDARD_LANE", "A"), moved(t, one, "CRITICAL_LANE", "A"),
			[]string{"heed: outbox box has no event of STANDARD_LANE any more", "heed: box E v1 lane is CRITICAL_LANE, was STANDARD_LANE"},
			"are read there once one of them shows, and go along the lane of their event",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := diff.Compare(c.was, c.is, today)
			if d := cmp.Diff(c.want, lines(changes)); d != "" {
				t.Fatal(d)
			}
			if !strings.Contains(changes[0].Consequence, c.about) {
				t.Errorf("%s: consequence %q, want %q in it", changes[0].Path(), changes[0].Consequence, c.about)
			}
		})
	}
	renamed := diff.Compare(moved(t, one, "STANDARD_LANE", "A, B"), moved(t, two, "STANDARD_LANE", "A, C"), today)[1]
	if want := "records that B has and another target lacks go to the-b once more"; !strings.Contains(renamed.Consequence, want) {
		t.Errorf("consequence %q, want %q in it", renamed.Consequence, want)
	}
}
