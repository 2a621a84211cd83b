package sibling

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLingeringOutlivesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out, stop := Lingering(ctx, time.Second)
		defer stop()
		time.Sleep(time.Hour)
		cancel()
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if out.Err() != nil {
			t.Error("it ended before its grace")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if out.Err() == nil {
			t.Error("it did not end with its grace")
		}
	})
}
