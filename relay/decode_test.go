package relay

import (
	"strings"
	"testing"

	"outboxrelay/contracts"
)

// A record that takes the program down when it is decoded or judged is one that
// breaks the contract, whatever is wrong with the program.
func TestAPanicOverARecordIsItsFault(t *testing.T) {
	tests := map[string]func(o *outbox, d *Doc){
		"when it is decoded": func(_ *outbox, d *Doc) { d.Content = told(func() map[string]any { panic("no such value") }) },
		"when it is judged":  func(o *outbox, _ *Doc) { o.catalog = nil },
	}
	for name, breaks := range tests {
		t.Run(name, func(t *testing.T) {
			o := testReader(t).outbox
			d := docOf(1, 0)
			breaks(o, &d)
			e := o.newEntry(d, nil)
			if len(e.faults) == 0 || !strings.Contains(e.faults.Error(), "panic") {
				t.Errorf("its faults are %v, want the panic", e.faults)
			}
			if !e.lane.Valid() || e.tier != contracts.ReviewRequired || e.rec.ID != d.ID {
				t.Errorf("got record %q for lane %q and tier %q", e.rec.ID, e.lane, e.tier)
			}
		})
	}
}
