package relay

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
)

// Sibling runs beside the outboxes, under the relay's errgroup: the replayer,
// the review queue, the freezer.
type Sibling struct {
	Name string
	// Run works until ctx ends, and returns with nothing of it left. To return
	// before that is to fail for good: it stops the relay.
	Run func(ctx context.Context) error
}

// errReturned is why a relay stops whose sibling returned without an error.
var errReturned = errors.New("returned before it was told to stop")

// Join adds siblings that are made with the relay itself. It is called before
// Run.
func (r *Relay) Join(siblings ...Sibling) { r.siblings = append(r.siblings, siblings...) }

// runSibling runs s until ctx ends. An error names it.
func (r *Relay) runSibling(ctx context.Context, s Sibling) error {
	g := guard{r.log.With(zap.String("sibling", s.Name)), r.metrics.panics}
	err := g.do(partSibling, func() error { return s.Run(ctx) })
	if ctx.Err() != nil && !panicked(err) {
		return nil
	}
	if err == nil {
		err = errReturned
	}
	r.log.Error("sibling failed, stopping the relay", zap.String("sibling", s.Name), zap.Error(err))
	return fmt.Errorf("run %s: %w", s.Name, err)
}
