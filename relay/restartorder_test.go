package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// own is a failure that is the record's alone, whatever others do.
func own() error { return &contracts.Failure{Code: "Internal", Own: true} }

// Records of several targets stand in any state when a relay starts: what is in
// backoff must not go before what is older of its aggregate, pending or in backoff
// itself.
func TestARestartKeepsTheOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fail func(target string, version int64) error
	}{
		{"the older is pending", func(target string, version int64) error {
			switch {
			case target == "NOTIF_ROUTER":
				return failure(contracts.Outage, "Unavailable")
			case target == "FUNNEL" && version == 2:
				return own()
			}
			return nil
		}},
		{"both are in backoff", func(target string, version int64) error {
			if target == "NOTIF_ROUTER" && version == 1 || target == "FUNNEL" && version == 2 {
				return own()
			}
			return nil
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.retries(3, 10*time.Minute)
			var mended atomic.Bool
			f.script(func(_ context.Context, target string, r *contracts.Record) error {
				if mended.Load() {
					return nil
				}
				return test.fail(target, r.AggregateVersion)
			})
			r := f.run()
			r.alive()
			var all []*contracts.Record
			for a := range 60 {
				all = append(all, f.series("schedOutbox", "ScheduleAssigned", fmt.Sprintf("s-%d", a), 1, 2)...)
			}
			f.append(all, 10)
			f.eventually("second ones are in backoff", func() bool { return f.count(contracts.Retrying) >= 30 })
			r.stop()
			mended.Store(true)
			f.dueNow(all)
			f.run()
			if got := f.delivered(all); got != (judgement{}) {
				t.Errorf("got %+v, want every record once and in order", got)
			}
		})
	}
}
