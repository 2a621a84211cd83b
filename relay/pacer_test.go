package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// pace measures, in fake time, how long a page of 10 ms takes, so long after
// records of an urgent lane came in; negative: none did.
func pace(t *testing.T, since time.Duration) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		own, err := lanes.New(lanes.Config{
			Lane: contracts.BackgroundLane, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1},
			Handler: func(context.Context, []*lanes.Task) []lanes.Verdict { return []lanes.Verdict{{}} },
		})
		if err != nil {
			t.Fatal(err)
		}
		own.Start(t.Context())
		p := newPacer(own, time.Now)
		if since >= 0 {
			p.flows()
			time.Sleep(since)
		}
		began := time.Now()
		if err := p.page(t.Context(), func() error { sleep(t.Context(), 10*time.Millisecond); return nil }); err != nil {
			t.Error(err)
		}
		took = time.Since(began)
	})
	return took
}

func TestBacklogGivesWayToUrgentRecords(t *testing.T) {
	tests := []struct {
		name  string
		since time.Duration
		want  time.Duration
	}{
		{"nothing urgent came in", -1, 10 * time.Millisecond},
		{"urgent records just came in", 0, 30 * time.Millisecond},
		{"urgent records came in a moment ago", calm - time.Millisecond, 30 * time.Millisecond},
		{"urgent records came in a while ago", calm, 10 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := pace(t, test.since); got != test.want {
				t.Errorf("a page took %v, want %v", got, test.want)
			}
		})
	}
}
