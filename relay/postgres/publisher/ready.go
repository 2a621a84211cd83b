package publisher

import (
	"context"
	"errors"
	"fmt"

	"outboxrelay/ier"
)

// Ready tells why the publisher cannot do its work now, nil: it can. It asks the database, how the
// last rounds went, and the breaker of the topic; whether there is such a topic is the caller's to ask.
func (p *Publisher) Ready(ctx context.Context) error {
	var errs []error
	present := false
	err := p.opts.Pool.QueryRow(ctx, `SELECT to_regclass('outbox_events') IS NOT NULL`).Scan(&present)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("database: %w", err))
	case !present:
		errs = append(errs, errors.New("database: no table outbox_events: run outbox-publisher migrate up; where it is there, its schema is not in the search_path, or the role lacks USAGE on it"))
	default:
		if err := p.streak.err(); err != nil {
			errs = append(errs, fmt.Errorf("database: %w", err))
		}
	}
	if b := p.Breaker(); p.router.Open(p.opts.Topic) {
		errs = append(errs, fmt.Errorf("topic %s: out since %s (%s)", b.Target, b.Since.UTC().Format("15:04:05Z"), b.Reason))
	}
	return errors.Join(errs...)
}

// Breaker is how that of the topic stands.
func (p *Publisher) Breaker() ier.BreakerStatus { return p.router.Breakers()[0] }
