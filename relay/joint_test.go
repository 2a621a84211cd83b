package relay

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Those who ask while a look is under way share the next one, which begins after all
// of them asked.
func TestJointLooksBeginAfterAllAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJoint()
		var began []time.Duration
		start := time.Now()
		look := func() bool {
			began = append(began, time.Since(start))
			time.Sleep(10 * time.Second)
			return true
		}
		ends := make(chan time.Duration, 10)
		for i := range cap(ends) {
			go func() {
				time.Sleep(time.Duration(i) * time.Second)
				j.do(t.Context(), look)
				ends <- time.Since(start)
			}()
		}
		for i := range cap(ends) {
			want := 20 * time.Second
			if i == 0 {
				want = 10 * time.Second
			}
			if got := <-ends; got != want {
				t.Errorf("the end of caller %d was at %v, want %v", i, got, want)
			}
		}
		if len(began) != 2 {
			t.Errorf("looks began at %v, want two", began)
		}
	})
}

// A look that fails counts for nobody else, and whoever gives up waits no longer.
func TestJointLooksThatFailAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJoint()
		var looks atomic.Int64
		look := func(ok bool) func() bool {
			return func() bool { looks.Add(1); time.Sleep(time.Second); return ok }
		}
		for _, ok := range []bool{true, false, true} {
			go j.do(t.Context(), look(ok))
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if j.do(ctx, look(true)); ctx.Err() == nil {
			t.Error("it returned before its look")
		}
		time.Sleep(time.Minute)
		if n := looks.Load(); n != 3 {
			t.Errorf("%d looks, want 3: the second failed", n)
		}
	})
}
