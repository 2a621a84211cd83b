package lanes

import (
	"context"
	"strconv"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// benchPolicy is that of a busy lane.
var benchPolicy = contracts.LanePolicy{SLA: time.Minute, Workers: 8, Run: 16}

// BenchmarkSubmitToDone is the whole stay of a task: the handler does nothing,
// and at most 1,024 tasks are in the lane. The caller's own allocation of the
// Task is included.
func BenchmarkSubmitToDone(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(strconv.Itoa(n)+"aggregates", func(b *testing.B) {
			keys := make([]string, n)
			for i := range keys {
				keys[i] = "outbox\x00" + strconv.Itoa(i)
			}
			room := make(chan struct{}, 1024)
			p, err := New(Config{
				Lane: contracts.StandardLane, Policy: benchPolicy, Metrics: NewMetrics(nil),
				Handler: func(_ context.Context, run []*Task) []Verdict {
					for range run {
						<-room
					}
					return make([]Verdict, len(run))
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			p.Start(b.Context())
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				room <- struct{}{}
				if err := p.Submit(&Task{Aggregate: keys[i%n], Version: int64(i)}); err != nil {
					b.Fatal(err)
				}
				i++
			}
			for range cap(room) {
				room <- struct{}{} // all have run
			}
			p.Drain(context.Background())
		})
	}
}

// BenchmarkStats is a scrape of a lane with 10,000 tasks.
func BenchmarkStats(b *testing.B) {
	p, err := New(Config{
		Lane: contracts.StandardLane, Policy: benchPolicy,
		Handler: func(context.Context, []*Task) []Verdict { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := p.Submit(&Task{Aggregate: strconv.Itoa(i % 1000), Version: int64(i)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Stats()
	}
}
