package relay

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// pace measures, in fake time, how long a page of 10 ms takes after setup.
func pace(t *testing.T, prepare func(urgent *lanes.Pool)) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		pool := func(lane contracts.Lane, handle lanes.Handler) *lanes.Pool {
			p, err := lanes.New(lanes.Config{Lane: lane, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1}, Handler: handle})
			if err != nil {
				t.Fatal(err)
			}
			p.Start(t.Context())
			return p
		}
		done := func(context.Context, []*lanes.Task) []lanes.Verdict { return []lanes.Verdict{{}} }
		urgent := pool(contracts.CriticalLane, func(ctx context.Context, run []*lanes.Task) []lanes.Verdict {
			if run[0].Work != nil {
				<-hold
			}
			return done(ctx, run)
		})
		own := pool(contracts.BackgroundLane, done)
		prepare(urgent)
		synctest.Wait()
		p := newPacer(own, []*lanes.Pool{urgent}, time.Now)
		p.active = time.Now().Add(-time.Hour)
		began := time.Now()
		if err := p.page(t.Context(), func() error { sleep(t.Context(), 10*time.Millisecond); return nil }); err != nil {
			t.Error(err)
		}
		took = time.Since(began)
		close(hold)
	})
	return took
}

func TestBacklogGivesWayToUrgentRecords(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(urgent *lanes.Pool)
		want    time.Duration
	}{
		{"nothing urgent", func(*lanes.Pool) {}, 10 * time.Millisecond},
		{
			"an urgent record was just delivered",
			func(urgent *lanes.Pool) { _ = urgent.Submit(&lanes.Task{Aggregate: "a"}) },
			30 * time.Millisecond,
		},
		{
			"an urgent record is in delivery",
			func(urgent *lanes.Pool) { _ = urgent.Submit(&lanes.Task{Aggregate: "a", Work: "hold"}) },
			30 * time.Millisecond,
		},
		{
			"the urgent lane is behind itself",
			func(urgent *lanes.Pool) {
				for i := range backlog + 1 {
					_ = urgent.Submit(&lanes.Task{Aggregate: strconv.Itoa(i), Work: "hold"})
				}
			},
			10 * time.Millisecond,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := pace(t, test.prepare); got != test.want {
				t.Errorf("a page took %v, want %v", got, test.want)
			}
		})
	}
}
