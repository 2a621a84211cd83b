package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
)

// lane is what a loop of either kind knows of its lane of its outbox.
type lane struct {
	outbox *contracts.Outbox
	name   contracts.Lane
	limit  int // of a listener's window, or of a page
	topics topics
}

// pending is what waits in the lane, oldest first.
func (l *lane) pending(fs *firestore.Client) firestore.Query {
	return fs.Collection(l.outbox.Name).
		Where(contracts.FieldStatus, "==", string(contracts.Pending)).
		Where(contracts.FieldLane, "==", string(l.name)).
		OrderBy(contracts.FieldCreatedAt, firestore.Asc).
		Limit(l.limit)
}

// sending is a record that was published and waits for its acknowledgements.
type sending struct {
	ref  *firestore.DocumentRef
	acks []*pubsub.PublishResult
}

// acked waits until all targets have acknowledged.
func (s sending) acked(ctx context.Context) error {
	for _, ack := range s.acks {
		if _, err := ack.Get(ctx); err != nil {
			return fmt.Errorf("publish record %s: %w", s.ref.ID, err)
		}
	}
	return nil
}

// publish hands the record to the client for each of its targets.
func (l *lane) publish(ctx context.Context, doc *firestore.DocumentSnapshot) (sending, error) {
	fields := doc.Data()
	body, err := json.Marshal(fields)
	if err != nil {
		return sending{}, fmt.Errorf("encode record %s: %w", doc.Ref.ID, err)
	}
	eventType, _ := fields[contracts.FieldEventType].(string)
	aggregate, _ := fields[contracts.FieldAggregateID].(string)
	key, _ := fields[contracts.FieldIdempotencyKey].(string)
	route := l.outbox.Route(eventType)
	if route == nil {
		return sending{}, fmt.Errorf("route record %s: %s declares no %q", doc.Ref.ID, l.outbox.Name, eventType)
	}
	out := sending{ref: doc.Ref, acks: make([]*pubsub.PublishResult, len(route.Targets))}
	for i, target := range route.Targets {
		out.acks[i] = l.topics[target].Publish(ctx, &pubsub.Message{
			Data:        body,
			OrderingKey: aggregate,
			Attributes:  map[string]string{contracts.AttrEventType: eventType, contracts.AttrIdempotencyKey: key},
		})
	}
	return out, nil
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
