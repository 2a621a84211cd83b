package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// watcher listens to one lane of one outbox and publishes what it sees.
type watcher struct {
	outbox *contracts.Outbox
	lane   contracts.Lane
	window int
	topics topics
	marks  chan<- *firestore.DocumentRef
}

// sending is a record that was published and waits for its acknowledgements.
type sending struct {
	ref  *firestore.DocumentRef
	acks []*pubsub.PublishResult
}

func (w *watcher) run(ctx context.Context, fs *firestore.Client) error {
	sent := make(chan sending, w.window)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.listen(ctx, fs, sent) })
	g.Go(func() error { return w.await(ctx, sent) })
	return g.Wait()
}

func (w *watcher) listen(ctx context.Context, fs *firestore.Client, sent chan<- sending) error {
	defer close(sent)
	snapshots := fs.Collection(w.outbox.Name).
		Where(contracts.FieldStatus, "==", string(contracts.Pending)).
		Where(contracts.FieldLane, "==", string(w.lane)).
		OrderBy(contracts.FieldCreatedAt, firestore.Asc).
		Limit(w.window).Snapshots(ctx)
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

// publish hands the record to the client for each of its targets.
func (w *watcher) publish(ctx context.Context, doc *firestore.DocumentSnapshot) (sending, error) {
	fields := doc.Data()
	body, err := json.Marshal(fields)
	if err != nil {
		return sending{}, fmt.Errorf("encode record %s: %w", doc.Ref.ID, err)
	}
	eventType, _ := fields[contracts.FieldEventType].(string)
	aggregate, _ := fields[contracts.FieldAggregateID].(string)
	key, _ := fields[contracts.FieldIdempotencyKey].(string)
	route := w.outbox.Route(eventType)
	if route == nil {
		return sending{}, fmt.Errorf("route record %s: %s declares no %q", doc.Ref.ID, w.outbox.Name, eventType)
	}
	out := sending{ref: doc.Ref, acks: make([]*pubsub.PublishResult, len(route.Targets))}
	for i, target := range route.Targets {
		out.acks[i] = w.topics[target].Publish(ctx, &pubsub.Message{
			Data:        body,
			OrderingKey: aggregate,
			Attributes:  map[string]string{contracts.AttrEventType: eventType, contracts.AttrIdempotencyKey: key},
		})
	}
	return out, nil
}

// await passes on what was acknowledged by all targets.
func (w *watcher) await(ctx context.Context, sent <-chan sending) error {
	for out := range sent {
		for _, ack := range out.acks {
			if _, err := ack.Get(ctx); err != nil {
				return fmt.Errorf("publish record %s: %w", out.ref.ID, err)
			}
		}
		select {
		case w.marks <- out.ref:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// topics are the publishers by target.
type topics map[string]*pubsub.Publisher

func openTopics(client *pubsub.Client, catalog *contracts.Catalog) topics {
	out := topics{}
	for name, target := range catalog.Targets {
		p := client.Publisher(target.Topic)
		p.EnableMessageOrdering = true
		p.PublishSettings.DelayThreshold = publishDelay
		out[name] = p
	}
	return out
}

// publishDelay is how long a publish waits for company. A batch never mixes
// ordering keys, so waiting longer gains next to nothing.
const publishDelay = time.Millisecond

func (t topics) stop() {
	for _, p := range t {
		p.Stop()
	}
}
