package relay

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Outboxes that one commit gave share a look, however late one of them asks; what another
// commit gave needs a look of its own, and one that was cut off counts for nobody.
func TestOutboxesOfOneCommitShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTakeUps()
		var looks atomic.Int64
		load := func(ctx context.Context) { looks.Add(1); sleep(ctx, time.Second) }
		first := time.Unix(1_700_000_000, 0)
		cut, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		u.look(cut, first, load)
		for range 6 {
			go u.look(t.Context(), first, load)
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks, want one that was cut off and one for all", n)
		}
		u.look(t.Context(), first.Add(time.Microsecond), load)
		if n := looks.Load(); n != 3 {
			t.Errorf("%d looks, want another one for another commit", n)
		}
		for range 2 { // nobody says when
			u.look(t.Context(), time.Time{}, load)
		}
		if n := looks.Load(); n != 5 {
			t.Errorf("%d looks, want one for each that cannot tell its commit", n)
		}
	})
}
