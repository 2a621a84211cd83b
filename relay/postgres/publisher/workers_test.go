package publisher

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
)

func TestWorkersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.end()
		who := func() string {
			var name string
			w.do(func() {
				stack := make([]byte, 64)
				stack = stack[:runtime.Stack(stack, false)]
				name = string(stack[:bytes.IndexByte(stack, '[')]) // goroutine N
			})
			synctest.Wait()
			return name
		}
		first := who()
		held := make(chan struct{})
		w.do(func() { <-held })
		if other := who(); other == first {
			t.Errorf("beside a call that waits, another runs on %s too", other)
		}
		close(held)
		synctest.Wait()
		ran := map[string]bool{}
		for range 10 {
			ran[who()] = true
		}
		if len(ran) > 2 {
			t.Errorf("one after the other they ran on %d goroutines, want the two that were there", len(ran))
		}
	})
}
