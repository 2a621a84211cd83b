package relay

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"outboxrelay/relay/feed"
)

// A lane that has no room before its first page is read, as records in backoff, which are
// taken first, take it up: nothing is wrong with its listener, which opens later.
func TestALaneThatWaitsForRoomFromItsStartOnIsPaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := testReader(t)
		for i := 0; ask(r.intake, (*feed.Feed).Room); i++ {
			held(r.intake, fmt.Sprint("v", i), 1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.catchUp(ctx) }()
		synctest.Wait()
		r.outbox.health.mu.Lock()
		state := r.outbox.health.listener(r.scan).state
		r.outbox.health.mu.Unlock()
		if state != statePaging {
			t.Errorf("its listener is told as %s, want %s", state, statePaging)
		}
		cancel()
		<-ended
	})
}
