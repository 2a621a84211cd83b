package lanes_test

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/lanes"
)

// A record of account a1 fails once. Its successor waits for it; account b2
// does not.
func Example() {
	failed := false
	done := make(chan struct{}, 3)
	pool, err := lanes.New(lanes.Config{
		Lane:   contracts.CriticalLane,
		Policy: contracts.LanePolicy{SLA: 500 * time.Millisecond, Workers: 1, Run: 1},
		Handler: func(_ context.Context, run []*lanes.Task) []lanes.Verdict {
			verdicts := make([]lanes.Verdict, len(run)) // the zero verdict is Done
			for i, t := range run {
				if t.Work == "role changed" && !failed {
					failed = true
					fmt.Println(t.Aggregate, t.Version, t.Work, "- failed")
					verdicts[i] = lanes.Verdict{Action: lanes.Retry, At: time.Now().Add(20 * time.Millisecond)}
					continue
				}
				fmt.Println(t.Aggregate, t.Version, t.Work)
				done <- struct{}{}
			}
			return verdicts
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range []*lanes.Task{
		{Aggregate: "a1", Version: 7, Work: "role changed"},
		{Aggregate: "a1", Version: 8, Work: "wallet credited"},
		{Aggregate: "b2", Version: 1, Work: "wallet deducted"},
	} {
		if err := pool.Submit(t); err != nil {
			fmt.Println(err)
		}
	}
	pool.Start(context.Background())
	for range cap(done) {
		<-done
	}
	left := pool.Drain(context.Background())
	fmt.Println("left:", len(left), "delivered:", pool.Stats().Delivered)
	// Output:
	// a1 7 role changed - failed
	// b2 1 wallet deducted
	// a1 7 role changed
	// a1 8 wallet credited
	// left: 0 delivered: 3
}
