// Package restore settles what came back into Firestore with an export, before
// any relay runs on it.
//
// An export shows records as they stood when it was made. Those that were
// waiting then have mostly been delivered since, and a relay that finds them
// waiting delivers them again. Nothing in Firestore tells which: so a person
// says what is to become of them, and dead letters do not replay themselves.
// Jobs of work queues have mostly been sent, too, and are left to a person; and
// what consumers had open is let go of.
package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
	"outboxrelay/relay/lease"
)

// As is what becomes of records that were waiting.
type As string

const (
	// AsDelivered marks them as delivered: nothing of them is sent.
	AsDelivered As = "delivered"
	// AsReview makes them dead letters, which a person replays or discards.
	AsReview As = "review"
)

// Config says what to settle.
type Config struct {
	Records relay.Store
	Letters dlq.Store
	Queue   *dlq.Queue
	Catalog *contracts.Catalog

	As     As
	Before time.Time // records that were appended before are of the export
	// Outboxes are those to settle; empty: all of the catalog.
	Outboxes []string
	By       string // who does it, for the audit
	Reason   string

	Now   func() time.Time // nil: time.Now
	NewID func() string    // of audit entries; nil: time-ordered UUIDs
	// Progress, if not nil, hears of each commit: so many records of an outbox
	// were settled by it.
	Progress func(outbox string, records int)
}

// Restore settles what came back with an export. It may be run again: what is
// settled is not touched any more.
type Restore struct {
	Config
	groups map[string]bool // written by this run
}

// New checks a configuration.
func New(c Config) (*Restore, error) {
	var errs []error
	if c.As != AsDelivered && c.As != AsReview {
		errs = append(errs, fmt.Errorf("records can be settled as %s or %s, not as %q", AsDelivered, AsReview, c.As))
	}
	if c.Before.IsZero() {
		errs = append(errs, errors.New("the time of the export is missing"))
	}
	for _, name := range c.Outboxes {
		if c.Catalog.Outbox(name) == nil {
			errs = append(errs, fmt.Errorf("the catalog has no outbox %s", name))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(c.Outboxes) == 0 {
		for _, o := range c.Catalog.Outboxes {
			c.Outboxes = append(c.Outboxes, o.Name)
		}
	}
	c.Outboxes = slices.Compact(slices.Sorted(slices.Values(c.Outboxes)))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if c.Progress == nil {
		c.Progress = func(string, int) {}
	}
	return &Restore{Config: c, groups: make(map[string]bool)}, nil
}

// RunningError tells that instances of the relay are at work, or seem to be.
type RunningError struct{ Instances []string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("the relay runs: %s. Stop every instance first; what an import brought back looks alive for one lease term, so wait for that after it",
		strings.Join(e.Instances, ", "))
}

// idle fails while a relay may be at work, which would deliver what is about to be
// settled, or a consumer.
func (r *Restore) idle(ctx context.Context) error {
	live, err := lease.Live(ctx, r.Letters)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		return &RunningError{live}
	}
	return r.unhandled(ctx)
}

// Look counts what Run would settle, and changes nothing.
func (r *Restore) Look(ctx context.Context) (*Report, error) {
	return r.each(ctx, func(context.Context, *contracts.Outbox, []Waiting) (int, error) { return 0, nil }, r.findTimed, false)
}

// Run settles. It fails while a relay or a consumer is at work. An error leaves what was
// settled until then, and the same run goes on from there.
func (r *Restore) Run(ctx context.Context) (*Report, error) {
	if err := r.idle(ctx); err != nil {
		return nil, err
	}
	report, err := r.each(ctx, r.settle, r.shelve, true)
	if err != nil {
		return report, err
	}
	// A relay that was started meanwhile may have been quicker.
	return report, r.idle(ctx)
}

// each reports what there is, and has it settled by what it is given.
func (r *Restore) each(ctx context.Context, settle func(context.Context, *contracts.Outbox, []Waiting) (int, error), timed func(context.Context, *Report) error, settling bool) (report *Report, err error) {
	report = &Report{}
	for _, name := range r.Outboxes {
		of := OutboxReport{Outbox: name}
		err := r.waiting(ctx, r.Catalog.Outbox(name), &of, settle)
		report.Outboxes = append(report.Outboxes, of)
		if err != nil {
			return report, fmt.Errorf("settle %s: %w", name, err)
		}
	}
	if err := timed(ctx, report); err != nil {
		return report, err
	}
	if report.Jobs, err = r.jobs(ctx, settling); err != nil {
		return report, err
	}
	if report.Events, err = r.events(ctx, settling); err != nil {
		return report, err
	}
	return report, r.surroundings(ctx, report)
}
