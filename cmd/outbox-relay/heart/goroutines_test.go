package heart

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGoroutinesTellWhereTheyStand(t *testing.T) {
	const many = 7
	var ready, ended sync.WaitGroup
	leave := make(chan struct{})
	for range many {
		ready.Add(1)
		ended.Go(func() {
			ready.Done()
			standsStill(leave)
		})
	}
	ready.Wait()
	defer ended.Wait()
	defer close(leave)
	// They have begun, and come to stand where they do at any moment.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for told := ""; !strings.Contains(told, "7 of them:"); told = goroutines() {
		if err := ctx.Err(); err != nil {
			t.Fatalf("%v; last told:\n%s", err, told)
		}
	}
	if told := goroutines(); !strings.Contains(told, "heart.standsStill") || !strings.Contains(told, "goroutines_test.go:") {
		t.Errorf("does not name where they stand:\n%s", told)
	}
}

//go:noinline
func standsStill(leave <-chan struct{}) { <-leave }
