package pubsub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestKeyIsHeldByOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyLocks()
		// Plain integers: the lock is all that keeps the race detector content.
		holders := map[string]*int{"a": new(int), "b": new(int), "c": new(int)}
		for i := range 100 {
			key := []string{"a", "b", "c"}[i%3]
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Second)
				defer cancel()
				release, err := k.acquire(ctx, key)
				if err != nil {
					return // gave up while waiting
				}
				*holders[key]++
				if *holders[key] != 1 {
					t.Errorf("%d callers hold %s", *holders[key], key)
				}
				time.Sleep(2 * time.Second)
				*holders[key]--
				release()
			}()
		}
		synctest.Wait()
		if got := k.size(); got != 3 {
			t.Errorf("%d keys are held, want 3", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := k.size(); got != 0 {
			t.Errorf("%d keys are left over, want 0", got)
		}
	})
}
