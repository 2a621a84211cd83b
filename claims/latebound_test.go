package claims

import (
	"fmt"
	"slices"
	"testing"

	"outboxrelay/contracts"
)

// An account whose records are given up again and again has a snapshot that can be written.
func TestWhatLateHandlersMaySetIsBounded(t *testing.T) {
	var s Snapshot
	for n := range int64(3 * mostLate) {
		rec := &contracts.Record{AggregateID: "a", EventID: fmt.Sprint(n), AggregateVersion: n + 1}
		var payload Parts
		payload[further] = Part{Value: map[string]any{fmt.Sprintf("claim%d", n): true}, Version: n + 1}
		s, _ = s.merge(change{rec: rec, payload: payload}, nil, 0)
	}
	if newest := claimText(fmt.Sprintf("claim%d", 3*mostLate-2), true); len(s.Late) != mostLate || !slices.Contains(s.Late, newest) {
		t.Errorf("%d are remembered, want the newest %d", len(s.Late), mostLate)
	}
}
