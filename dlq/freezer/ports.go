package freezer

import (
	"context"

	"outboxrelay/dlq"
)

// Queue is what a Freezer needs of the dead-letter queue; *dlq.Queue has it.
type Queue interface {
	Hear(b dlq.Bell) <-chan struct{}
	AlertLog
	Releases
}

// AlertLog holds the alerts until they are published.
type AlertLog interface {
	Unpublished(ctx context.Context, after string) (page []*dlq.Alert, next string, err error)
	WatchUnpublished(ctx context.Context, limit int, changed func()) error
	MarkPublished(ctx context.Context, a *dlq.Alert) error
}

// Releases are the freezes whose release was decided, and the steps to its end.
type Releases interface {
	Outboxes(ctx context.Context) ([]string, error)
	Releases(ctx context.Context, after string) (page []*dlq.Freeze, next string, err error)
	WatchReleases(ctx context.Context, changed func()) error
	FreezesOf(ctx context.Context, aggregateIDs ...string) ([]*dlq.Freeze, error)
	TurnBack(ctx context.Context, outbox string, freeze *dlq.Freeze, after string) (turned int, next string, err error)
	EndRelease(ctx context.Context, freeze *dlq.Freeze) (records int64, done bool, err error)
}

// Alerts is where alerts are published: topic domain-errors.
type Alerts interface {
	// Publish returns once the alert was acknowledged.
	Publish(ctx context.Context, data []byte, attributes map[string]string) error
}
