package follower_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/follower"
)

// deaf is a queue whose listeners tell nothing, and end with an error if they have
// one.
type deaf struct {
	ends error
	asks func(ctx context.Context) error
}

func (d deaf) watch(ctx context.Context) error {
	if d.ends != nil {
		return d.ends
	}
	<-ctx.Done()
	return ctx.Err()
}

func (d deaf) WatchEntries(ctx context.Context, _ int, _ func([]*dlq.Entry)) error {
	return d.watch(ctx)
}

func (d deaf) WatchLetters(ctx context.Context, _ int, _ func([]*dlq.Item)) error {
	return d.watch(ctx)
}

func (d deaf) WatchBulks(ctx context.Context, _ int, _ func([]*dlq.Bulk)) error {
	return d.watch(ctx)
}

func (d deaf) Bulks(ctx context.Context, _ dlq.Page) (dlq.Paged[*dlq.Bulk], error) {
	return dlq.Paged[*dlq.Bulk]{}, d.asks(ctx)
}

// TestOutageIsTold: by the zero Change, for whose sake open pages ask and learn of it.
func TestOutageIsTold(t *testing.T) {
	gone := errors.New("gone")
	for what, tt := range map[string]struct {
		queue       deaf
		least, most int64 // zero Changes in the first minute
	}{
		"all is well":         {deaf{nil, func(context.Context) error { return nil }}, 0, 0},
		"Firestore is down":   {deaf{nil, func(context.Context) error { return gone }}, 1, 2},
		"Firestore is silent": {deaf{nil, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, 1, 2},
		"listeners end":       {deaf{gone, func(context.Context) error { return nil }}, 6, 3 * 6},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var n atomic.Int64
				err := follower.New(tt.queue, nil).Follow(ctx, func(changes []follower.Change) {
					if !slices.Equal(changes, []follower.Change{{}}) {
						t.Errorf("told of %v", changes)
					}
					n.Add(1)
				})
				if err != nil {
					t.Error(err)
				}
				if n := n.Load(); n < tt.least || n > tt.most {
					t.Errorf("%d zero Changes in a minute, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}
