package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Withdraw beside everything else is in the model test; this one reads more
// easily.
func TestWithdrawTakesWhatNoWorkerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := setup(t, Config{Handler: func(_ context.Context, run []*Task) []Verdict {
			<-release
			return []Verdict{{Action: Retry, At: time.Now().Add(time.Hour)}}
		}})
		p.Start(t.Context())
		defer p.Drain(t.Context())
		tasks := make([]*Task, 4)
		for v := range tasks {
			tasks[v] = &Task{Aggregate: "a", Version: int64(v), Work: v}
			if err := p.Submit(tasks[v]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first is with a worker before the others come
		}
		withdraw := func(match func(*Task) bool) (versions []int64) {
			for _, task := range p.Withdraw("a", match) {
				versions = append(versions, task.Version)
			}
			return versions
		}
		odd := func(task *Task) bool { return task.Version%2 == 1 }
		every := func(*Task) bool { return true }
		if diff := cmp.Diff([]int64{1, 3}, withdraw(odd)); diff != "" {
			t.Errorf("odd versions (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{2}, withdraw(every)); diff != "" {
			t.Errorf("all that no worker has (-want +got):\n%s", diff)
		}
		close(release)
		synctest.Wait()
		if diff := cmp.Diff([]int64{0}, withdraw(every)); diff != "" {
			t.Errorf("what waits for its retry (-want +got):\n%s", diff)
		}
		if p.Active() > 0 {
			t.Error("the lane still holds the aggregate")
		}
		if err := p.Submit(tasks[0]); err != nil {
			t.Errorf("submit a withdrawn task again: %v", err)
		}
	})
}
