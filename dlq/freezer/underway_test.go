package freezer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/dlq/sibling"
)

// Releases that failed before take half of the places at most, however many they are:
// those that are new are begun at once beside them, and each has its turn.
func TestWhatFailedLeavesPlacesToWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rung, told atomic.Int64
		u := newUnderWay(Config{Config: sibling.Config{RetryMin: time.Second, RetryMax: time.Second}}, func() { rung.Add(1) })
		fails := func(context.Context) error { return errors.New("unavailable") }
		hang := make(chan struct{})
		hangs := func(context.Context) error { <-hang; return nil }
		const bad = 3 * releasesAtOnce
		each := func(release func(context.Context) error) {
			for n := range bad {
				u.begin(t.Context(), fmt.Sprintf("bad-%d", n), release, func(error) { told.Add(1) })
			}
			synctest.Wait()
		}
		for range 3 { // as many as there are places at once
			each(fails)
		}
		if told.Load() != bad {
			t.Fatalf("%d have failed, want %d", told.Load(), bad)
		}
		time.Sleep(time.Minute)
		if synctest.Wait(); rung.Load() < bad {
			t.Errorf("it is rung %d times for another try, want %d", rung.Load(), bad)
		}
		each(hangs)
		if u.running != releasesAtOnce/2 {
			t.Errorf("%d that failed before are tried at once, want %d", u.running, releasesAtOnce/2)
		}
		var done atomic.Bool
		u.begin(t.Context(), "new", func(context.Context) error { done.Store(true); return nil }, nil)
		if synctest.Wait(); !done.Load() {
			t.Error("what is new waits for what failed before")
		}
		rung.Store(0)
		close(hang)
		for range bad {
			synctest.Wait()
			each(hangs)
		}
		u.ended.Wait()
		if rung.Load() == 0 {
			t.Error("nobody is told that there is a place")
		}
		u.forget()
		if u.forget(); len(u.tries)+u.running+u.repeated > 0 {
			t.Errorf("%d are remembered, %d run, %d of them again, want none", len(u.tries), u.running, u.repeated)
		}
	})
}
