package pubsub

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	gpubsub "cloud.google.com/go/pubsub/v2"
)

// The client makes its queues on its first publish, under a lock that calls hold
// while they wait for room: whoever came too late to make them would lock all
// others out. That takes an unlucky moment inside the client; what is shown here
// is that nobody else is in it while the first one is.
func TestTheFirstPublishGoesAlone(t *testing.T) {
	const others = 8
	var begun, inside atomic.Int32
	var wg sync.WaitGroup
	p := &publisher{}
	p.put = func(context.Context, *gpubsub.Message) *gpubsub.PublishResult {
		if inside.Add(1) > 1 {
			return &gpubsub.PublishResult{}
		}
		for range others {
			wg.Go(func() {
				begun.Add(1)
				p.publish(t.Context(), &gpubsub.Message{})
			})
		}
		for yields := 0; yields < 1000; runtime.Gosched() { // once all have begun, time enough to come in
			if begun.Load() == others {
				yields++
			}
			if n := inside.Load(); n > 1 {
				t.Errorf("%d calls are in the client beside its first", n-1)
				break
			}
		}
		return &gpubsub.PublishResult{}
	}
	p.publish(t.Context(), &gpubsub.Message{})
	wg.Wait()
	if n := inside.Load(); n != others+1 {
		t.Errorf("%d calls came to the client, want %d", n, others+1)
	}
}
