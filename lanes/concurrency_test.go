package lanes

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestNothingIsLostOrReordered has everything happen at once. Each aggregate is
// submitted by one goroutine in version order, so that its tasks must be done in
// that order, and each must be done once or come back from Drain.
func TestNothingIsLostOrReordered(t *testing.T) {
	const submitters, aggregates, versions = 4, 3, 100
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		done := make(map[string]int64) // by aggregate: versions done so far
		given := make(map[string]int)
		p := setup(t, Config{Handler: func(_ context.Context, run []*Task) []Verdict {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			verdicts := make([]Verdict, len(run))
			for i, task := range run {
				id := idOf(task)
				if given[id]++; task.Version%5 == 0 && given[id] < 3 {
					for j := range verdicts[i:] {
						verdicts[i+j] = Verdict{Action: Again}
					}
					verdicts[i] = Verdict{Action: Retry, At: time.Now().Add(10 * time.Millisecond), On: "target"}
					break
				}
				if done[task.Aggregate] != task.Version {
					t.Errorf("%s is done after %d others of its aggregate", id, done[task.Aggregate])
				}
				done[task.Aggregate]++
			}
			return verdicts
		}})
		p.Start(t.Context())
		var submitting, meddling sync.WaitGroup
		for s := range submitters {
			submitting.Go(func() {
				for v := range int64(versions) {
					for a := range aggregates {
						key := fmt.Sprint(s, "-", a)
						if err := p.Submit(&Task{Aggregate: key, Version: v, Work: fmt.Sprint(key, "/", v)}); err != nil {
							t.Errorf("submit: %v", err)
						}
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		stop := make(chan struct{})
		for _, meddle := range []func(){
			func() { p.Wake("target") },
			func() { p.Pause(); time.Sleep(time.Millisecond); p.Resume() },
			func() { p.Stats() },
		} {
			meddling.Go(func() {
				for tick := time.Tick(7 * time.Millisecond); ; {
					select {
					case <-tick:
						meddle()
					case <-stop:
						return
					}
				}
			})
		}
		submitting.Wait()
		left := p.Drain(context.Background())
		close(stop)
		meddling.Wait()
		if len(left) == 0 {
			t.Error("nothing was left to give back: the test shows less than it says")
		}
		for _, l := range left {
			if done[l.Aggregate] != l.Version {
				t.Errorf("%s came back after %d of its aggregate", idOf(l), done[l.Aggregate])
			}
			done[l.Aggregate]++
		}
		for key, n := range done {
			if n != versions {
				t.Errorf("aggregate %s: %d tasks done or given back, want %d", key, n, versions)
			}
		}
		if len(done) != submitters*aggregates {
			t.Errorf("%d aggregates, want %d", len(done), submitters*aggregates)
		}
	})
}
