package floor

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// gather is how long a commit waits for company, so that a trickle does not
// become a commit for each record.
const gather = 5 * time.Millisecond

// mark commits delivered records in batches until ctx ends.
func mark(ctx context.Context, fs *firestore.Client, marks <-chan *firestore.DocumentRef) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(commits)
	for {
		batch := take(ctx, marks)
		if batch == nil {
			return g.Wait()
		}
		g.Go(func() error { return commit(ctx, fs, batch) })
	}
}

func commit(ctx context.Context, fs *firestore.Client, batch []*firestore.DocumentRef) error {
	now := time.Now()
	writes := fs.Batch() //nolint:staticcheck // deprecated for BulkWriter, which sends 20 writes at a time
	for _, ref := range batch {
		writes.Update(ref, []firestore.Update{
			{Path: contracts.FieldStatus, Value: string(contracts.Delivered)},
			{Path: contracts.FieldDeliveredAt, Value: now},
		})
	}
	for {
		_, err := writes.Commit(ctx)
		if err == nil {
			return nil
		}
		if code := status.Code(err); code != codes.Aborted && code != codes.Canceled {
			return fmt.Errorf("mark %d records: %w", len(batch), err)
		}
		if !rig.Sleep(ctx, again) {
			return ctx.Err()
		}
	}
}

// again is the pause after a commit that was aborted or cancelled by the server.
// It is the one failure that the floor does not end with: Google's emulator does
// both under load, although nobody else writes these documents.
const again = 20 * time.Millisecond

// take waits for a first record and returns it with those that come while it
// gathers. It returns nil when ctx ends.
func take(ctx context.Context, marks <-chan *firestore.DocumentRef) []*firestore.DocumentRef {
	var batch []*firestore.DocumentRef
	select {
	case ref := <-marks:
		batch = append(batch, ref)
	case <-ctx.Done():
		return nil
	}
	due := time.NewTimer(gather)
	defer due.Stop()
	for len(batch) < commitWrites {
		select {
		case ref := <-marks:
			batch = append(batch, ref)
		case <-due.C:
			return batch
		case <-ctx.Done():
			return nil
		}
	}
	return batch
}
