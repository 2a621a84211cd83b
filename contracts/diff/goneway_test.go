package diff_test

import (
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/contracts/diff"
)

// What waits for a target ends without it once the catalog has it no more, and nothing
// tells of it then.
func TestWhatWaitsForATargetThatIsGoneIsTold(t *testing.T) {
	load := func(targets string) *contracts.Catalog {
		c, err := contracts.ParseCatalog("c.yaml", []byte("targets: {T: {kind: pubsub, topic: the-topic}, U: {kind: pubsub, topic: the-other}}\n"+
			"outboxes: [{name: box, slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: ["+targets+"]}]}]"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	changes := diff.Compare(load("T, U"), load("T"), today)
	if len(changes) != 1 || !strings.Contains(changes[0].Consequence, "nor what waits for it") || !strings.Contains(changes[0].Remedy, "relay_target_waiting_records") {
		t.Errorf("%+v", changes)
	}
}
