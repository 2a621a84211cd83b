package floor

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
)

// watcher listens to one lane of one outbox and publishes what it sees.
type watcher struct {
	lane
	marks chan<- *firestore.DocumentRef
}

func (w *watcher) run(ctx context.Context, fs *firestore.Client) error {
	sent := make(chan sending, w.limit)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.listen(ctx, fs, sent) })
	g.Go(func() error { return w.await(ctx, sent) })
	return g.Wait()
}

func (w *watcher) listen(ctx context.Context, fs *firestore.Client, sent chan<- sending) error {
	defer close(sent)
	snapshots := w.pending(fs).Snapshots(ctx)
	defer snapshots.Stop()
	for {
		snapshot, err := snapshots.Next()
		if err != nil {
			return fmt.Errorf("listen to %s: %w", w.outbox.Name, err)
		}
		for _, change := range snapshot.Changes {
			if change.Kind != firestore.DocumentAdded {
				continue
			}
			out, err := w.publish(ctx, change.Doc)
			if err != nil {
				return err
			}
			select {
			case sent <- out:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// await passes on what was acknowledged by all targets.
func (w *watcher) await(ctx context.Context, sent <-chan sending) error {
	for out := range sent {
		if err := out.acked(ctx); err != nil {
			return err
		}
		select {
		case w.marks <- out.ref:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
