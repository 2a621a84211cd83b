package claims

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// busy is an answer with Retry-After.
type busy struct {
	contracts.Failure
	after time.Duration
}

func (b *busy) RetryAfter() time.Duration { return b.after }

func TestCallsKeepTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(20, newMetrics(nil), zap.NewNop())
		start := time.Now()
		for range 42 { // two at once, and the others at 20 a second
			if err := c.do(t.Context(), callSet, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("42 calls took %v, want 2s", took)
		}
	})
}

func TestCallsThatWaitTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(0.1, newMetrics(nil), zap.NewNop())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		made := 0
		call := func() error { made++; return nil }
		if err := c.do(ctx, callSet, call); err != nil {
			t.Fatal(err)
		}
		err := c.do(ctx, callSet, call)
		if contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != CodeRateLimited || made != 1 {
			t.Errorf("got %v after %d calls, want an outage after 1", err, made)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name        string
		asked, held time.Duration
	}{
		{"a minute", time.Minute, time.Minute},
		{"no time", 0, 0},
		{"more than a handler believes", 24 * time.Hour, maxRetryAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := newCalls(1000, newMetrics(nil), zap.NewNop())
				made := 0
				refuse := func() error {
					made++
					return &busy{contracts.Failure{Kind: contracts.Outage, Code: "ResourceExhausted"}, c.asked}
				}
				if err := calls.do(t.Context(), callSet, refuse); contracts.CodeOf(err) != "ResourceExhausted" {
					t.Errorf("got %v", err)
				}
				time.Sleep(max(0, c.held-time.Millisecond))
				err := calls.do(t.Context(), callSet, refuse)
				if held := made == 1; held != (c.held > 0) || held && (contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != CodeRetryAfter) {
					t.Errorf("got %v after %d calls", err, made)
				}
				time.Sleep(time.Millisecond)
				ok := errors.New("made")
				if c.held > 0 {
					if err := calls.do(t.Context(), callSet, func() error { return ok }); !errors.Is(err, ok) {
						t.Errorf("got %v once the time was over, want a call", err)
					}
				}
			})
		})
	}
}

// TestRetryAfterBeforeAnything: while Auth wants no call, a record touches nothing.
func TestRetryAfterBeforeAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.users["acc-1"] = nil
		touched := 0
		h := w.newHandler(catalog(false), func(string) verdict { touched++; return pass })
		h.calls.hold(time.Minute)
		rec, envelope := record(1, `{"role":"a"}`)
		if err := h.Handle(t.Context(), rec, envelope); contracts.CodeOf(err) != CodeRetryAfter || touched != 0 {
			t.Errorf("got %v after %d calls, want %s", err, touched, CodeRetryAfter)
		}
		time.Sleep(time.Minute)
		if err := h.Handle(t.Context(), rec, envelope); err != nil {
			t.Error(err)
		}
	})
}
