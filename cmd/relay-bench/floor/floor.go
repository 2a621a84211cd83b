// Package floor is the least that a relay can do with the same clients: listen or
// poll, publish, mark. It has no order, no dead letters, no leases, no metrics, and no
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
	Window  int                // documents in a listener's window; 0: it polls
	Page    int                // documents of a polled page; 0: it listens
}

const (
	// commitWrites bounds the marks of one commit: Firestore's classic limit.
	commitWrites = 500
	// commits are under way at once at most. A floor that polls has as many pages.
	commits = 4
)

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if c.Project == "" {
		errs = append(errs, errors.New("project is missing"))
	}
	if c.Window < 0 || c.Page < 0 || (c.Window > 0) == (c.Page > 0) {
		errs = append(errs, fmt.Errorf("window is %d and page is %d, want one of them, at least 1", c.Window, c.Page))
	}
	if c.Page > commitWrites {
		errs = append(errs, fmt.Errorf("page is %d, want at most %d, the marks of one commit", c.Page, commitWrites))
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
	err := connected(ctx, cfg, func(fs *firestore.Client, topics topics) error {
		g, work := errgroup.WithContext(ctx)
		if cfg.Page > 0 {
			poll(work, g, fs, topics, cfg)
		} else {
			listen(work, g, fs, topics, cfg)
		}
		return g.Wait()
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run floor: %w", err)
	}
	return nil
}

// connected runs f with the clients.
func connected(ctx context.Context, cfg Config, f func(*firestore.Client, topics) error) error {
	if err := cfg.Validate(); err != nil {
		return err
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
	topics := openTopics(ps, cfg.Catalog)
	defer topics.stop()
	return f(fs, topics)
}

// listen starts a listener for each lane, and one that marks for all of them.
func listen(ctx context.Context, g *errgroup.Group, fs *firestore.Client, topics topics, cfg Config) {
	marks := make(chan *firestore.DocumentRef, commitWrites*commits)
	for _, outbox := range cfg.Catalog.Outboxes {
		for _, name := range outbox.Lanes() {
			w := &watcher{lane: lane{outbox: outbox, name: name, limit: cfg.Window, topics: topics}, marks: marks}
			g.Go(func() error { return w.run(ctx, fs) })
		}
	}
	g.Go(func() error { return mark(ctx, fs, marks) })
}

// poll starts a loop for each lane.
func poll(ctx context.Context, g *errgroup.Group, fs *firestore.Client, topics topics, cfg Config) {
	turns := make(chan struct{}, commits)
	for _, outbox := range cfg.Catalog.Outboxes {
		for _, name := range outbox.Lanes() {
			p := &poller{lane: lane{outbox: outbox, name: name, limit: cfg.Page, topics: topics}, turns: turns}
			g.Go(func() error { return p.run(ctx, fs) })
		}
	}
}
