// Package floor is the least that a relay can do with the same clients: listen,
// publish, mark. It has no order, no dead letters, no leases, no metrics, and no
// retries but of commits that the server aborted. A bench measures the relay against it.
package floor

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// Config is what a floor runs on. Its clients find the cloud by the environment,
// as every Google client does.
type Config struct {
	Project string
	Catalog *contracts.Catalog // without handler targets: the floor only publishes
	Window  int                // documents in a listener's window
}

const (
	// commitWrites bounds the marks of one commit: Firestore's classic limit.
	commitWrites = 500
	// commits are under way at once at most.
	commits = 4
)

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if c.Project == "" {
		errs = append(errs, errors.New("project is missing"))
	}
	if c.Window < 1 {
		errs = append(errs, fmt.Errorf("window is %d, want at least 1", c.Window))
	}
	if c.Catalog == nil {
		return errors.Join(append(errs, errors.New("catalog is missing"))...)
	}
	for name, target := range c.Catalog.Targets {
		if target.Kind != contracts.KindPubSub {
			errs = append(errs, fmt.Errorf("target %s has no topic", name))
		}
	}
	return errors.Join(errs...)
}

// Run relays until ctx ends, which is no error. The first failure ends it, other
// than a commit that was aborted.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("run floor: %w", err)
	}
	fs, err := firestore.NewClient(ctx, cfg.Project)
	if err != nil {
		return fmt.Errorf("connect to Firestore: %w", err)
	}
	defer fs.Close() //nolint:errcheck // nothing is under way any more
	ps, err := pubsub.NewClient(ctx, cfg.Project)
	if err != nil {
		return fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	defer ps.Close() //nolint:errcheck // nothing is under way any more

	marks := make(chan *firestore.DocumentRef, commitWrites*commits)
	topics := openTopics(ps, cfg.Catalog)
	defer topics.stop()
	g, work := errgroup.WithContext(ctx)
	for _, outbox := range cfg.Catalog.Outboxes {
		for _, lane := range outbox.Lanes() {
			w := &watcher{outbox: outbox, lane: lane, window: cfg.Window, topics: topics, marks: marks}
			g.Go(func() error { return w.run(work, fs) })
		}
	}
	g.Go(func() error { return mark(work, fs, marks) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run floor: %w", err)
	}
	return nil
}
