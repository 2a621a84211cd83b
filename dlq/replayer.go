package dlq

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/time/rate"

	"outboxrelay/contracts"
)

// Replayer is the sibling that replays SAFE_AUTO dead letters: by their
// schedule, at most so many in a second as the catalog says, and when somebody
// asks.
type Replayer struct{ executor *executor }

// NewReplayer makes a Replayer. It does nothing until Run.
func NewReplayer(q *Queue, lanes Lanes, cfg SiblingConfig) (*Replayer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make replayer: %w", err)
	}
	perSecond := q.catalog.Replay.RatePerSecond
	limiter := rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(perSecond))))
	return &Replayer{newExecutor(q, lanes, contracts.SafeAuto, limiter, cfg.withDefaults())}, nil
}

// Run replays until ctx ends. All that it started has ended then. An error is
// a fault of the program: outages are waited through.
func (r *Replayer) Run(ctx context.Context) error {
	return together(ctx, "replayer", r.executor.parts()...)
}
