package freezer

import (
	"context"
	"fmt"

	"outboxrelay/dlq/sibling"
)

// Freezer is the sibling that looks after SECURITY_BLOCK: it has the replays of
// authorized dead letters that operators ask for carried out, publishes the
// alerts, and finishes the releases of frozen aggregates.
type Freezer struct {
	alerter  *alerter
	releaser *releaser
	parts    []sibling.Part
}

// New makes a Freezer, whose Run runs the parts: what carries out the replays that
// operators ask for. It does nothing until Run.
func New(q Queue, alerts Alerts, cfg Config, parts ...sibling.Part) (*Freezer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make freezer: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Freezer{alerter: newAlerter(q, alerts, cfg), releaser: newReleaser(q, cfg), parts: parts}, nil
}

// Run works until ctx ends. All that it started has ended then. An error is a
// fault of the program: outages are waited through.
func (f *Freezer) Run(ctx context.Context) error {
	all := []func(context.Context) error{f.alerter.run, f.alerter.listen, f.releaser.run, f.releaser.listen}
	for _, p := range f.parts {
		all = append(all, p.Run)
	}
	return sibling.Together(ctx, "freezer", all...)
}
