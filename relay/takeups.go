package relay

import (
	"context"
	"time"
)

// takeUps has the outboxes that one commit gave this instance share a look at what is
// frozen: whoever of them looks, it is after that commit.
type takeUps struct {
	turn   chan struct{} // holds a token of who looks; it guards looked
	looked time.Time     // when those were given, by the server's clock, that shared the last look
}

func newTakeUps() *takeUps { return &takeUps{turn: make(chan struct{}, 1)} }

// look returns once one of those that were given at since has looked, this caller or
// another; or with ctx, with which load ends too.
func (t *takeUps) look(ctx context.Context, since time.Time, load func(context.Context)) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return
	}
	if !since.IsZero() && since.Equal(t.looked) {
		return
	}
	if load(ctx); ctx.Err() == nil {
		t.looked = since
	}
}
