package dlq

import (
	"context"
	"fmt"

	"outboxrelay/contracts"
)

// Freezer is the sibling that looks after SECURITY_BLOCK: it carries out the
// replays of authorized dead letters that operators ask for, publishes the
// alerts, and finishes the releases of frozen aggregates.
type Freezer struct {
	executor *executor
	alerter  *alerter
	releaser *releaser
}

// NewFreezer makes a Freezer. It does nothing until Run.
func NewFreezer(q *Queue, lanes Lanes, alerts Alerts, cfg SiblingConfig) (*Freezer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make freezer: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Freezer{
		executor: newExecutor(q, lanes, contracts.SecurityBlock, nil, cfg), alerter: newAlerter(q, alerts, cfg), releaser: newReleaser(q, cfg),
	}, nil
}

// Run works until ctx ends. All that it started has ended then. An error is a
// fault of the program: outages are waited through.
func (f *Freezer) Run(ctx context.Context) error {
	return together(ctx, "freezer", append(f.executor.parts(), f.alerter.run, f.alerter.listen, f.releaser.run, f.releaser.listen)...)
}
