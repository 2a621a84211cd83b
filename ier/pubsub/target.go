package pubsub

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// Target is one topic as an ier.Target. It has one publisher for each lane, on
// that lane's client.
type Target struct {
	topic   string
	metrics *topicMetrics
	lanes   map[contracts.Lane]*publisher
}

// NewTarget returns the target of topic, an ID without its project. It contacts
// nobody: a missing topic shows as an outage on delivery.
func NewTarget(clients *Clients, topic string, s Settings) (*Target, error) {
	if topic == "" {
		return nil, errors.New("create target: no topic")
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("create target of topic %s: %w", topic, err)
	}
	s = s.withDefaults()
	t := &Target{topic: topic, metrics: s.Metrics.topic(topic), lanes: map[contracts.Lane]*publisher{}}
	for _, lane := range contracts.Lanes() {
		t.lanes[lane] = newPublisher(clients.Lane(lane), topic, s)
	}
	return t, nil
}

// Deliver publishes parcels in the lane of the first. It returns when every
// answer is there. A request, and its wait for room, take Settings.Timeout each
// at the longest; what has no answer by then is an outage. When ctx ends, the
// request that is out goes on and Deliver waits for it; what was not sent yet is
// an outage.
func (t *Target) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	if len(parcels) == 0 {
		return nil
	}
	p := t.lanes[parcels[0].Lane]
	if p == nil {
		p = t.lanes[contracts.BackgroundLane]
	}
	messages := make([]*contracts.Message, len(parcels))
	for i := range parcels {
		messages[i] = parcels[i].Message
	}
	errs := p.deliver(ctx, messages)
	t.metrics.count(errs)
	return errs
}

// Close waits for the requests under way and stops the publishers: nothing is
// sent any more, and later calls of Deliver fail. When ctx ends first it returns an error and leaves the rest to
// Clients.Close, which cuts it off.
func (t *Target) Close(ctx context.Context) error {
	err := stopWithin(ctx, func() {
		var wg sync.WaitGroup
		for _, p := range t.lanes {
			wg.Go(p.stop)
		}
		wg.Wait()
	})
	if err != nil {
		return fmt.Errorf("close target of topic %s: %w", t.topic, err)
	}
	return nil
}

// Targets are the Pub/Sub targets of a catalog, by name.
type Targets map[string]*Target

// NewTargets makes a target for each one of the catalog that is on Pub/Sub.
func NewTargets(clients *Clients, catalog *contracts.Catalog, s Settings) (Targets, error) {
	s = s.withDefaults()
	targets := Targets{}
	for name, spec := range catalog.Targets {
		if spec.Kind != contracts.KindPubSub {
			continue
		}
		target, err := NewTarget(clients, spec.Topic, s)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", name, err)
		}
		targets[name] = target
	}
	return targets, nil
}

// Close closes all targets at the same time.
func (ts Targets) Close(ctx context.Context) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, t := range ts {
		wg.Go(func() {
			if err := t.Close(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
