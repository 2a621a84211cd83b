package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local/rig"
)

// happening is what a consumer has to do with an event.
type happening struct{ consumer, eventID string }

// truth is all that was appended. Safe for concurrent use.
type truth struct {
	mu     sync.Mutex
	events int
	wanted map[happening]bool
}

func newTruth() *truth { return &truth{wanted: map[happening]bool{}} }

func (t *truth) add(route *contracts.EventRoute, eventID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events++
	for _, consumer := range route.Consumers {
		t.wanted[happening{consumer, eventID}] = true
	}
}

func (t *truth) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events
}

const (
	perCommit   = 4 // events at most
	appendAgain = 100 * time.Millisecond
)

// producer appends events of one outbox, as a slice does: in the transaction of its
// business write.
type producer struct {
	docs     *firestore.Client
	catalog  *contracts.Catalog
	outbox   *contracts.Outbox
	truth    *truth
	events   int
	every    time.Duration // between two events
	random   *rand.Rand
	versions []int64 // of its aggregates
}

// run appends all events.
func (p *producer) run(ctx context.Context) error {
	appender := outbox.New(p.docs, p.catalog)
	for left := p.events; left > 0; {
		var events []outbox.Event
		for range min(left, 1+p.random.IntN(perCommit)) {
			events = append(events, p.draw())
		}
		if !rig.Sleep(ctx, time.Duration(len(events))*p.every) {
			return ctx.Err()
		}
		for p.commit(ctx, appender, events) != nil { // again is no second event: its key is the same
			if !rig.Sleep(ctx, appendAgain) {
				return ctx.Err()
			}
		}
		for _, e := range events {
			p.truth.add(p.outbox.RouteOf(e.Type, e.Version), e.EventID)
		}
		left -= len(events)
	}
	return nil
}

func (p *producer) draw() outbox.Event {
	at := p.random.IntN(len(p.versions))
	p.versions[at]++
	name := contracts.SampleAggregate(p.outbox, fmt.Sprintf("%s-%d", p.outbox.Name, at))
	rec := p.catalog.Sample(p.random, p.outbox, name, p.versions[at], time.Now())
	return outbox.Event{
		Outbox: rec.Outbox, Type: rec.EventType, Version: rec.EventVersion, AggregateID: rec.AggregateID, AggregateVersion: rec.AggregateVersion,
		EventID: rec.EventID, TraceID: rec.TraceID, Payload: rec.Payload,
	}
}

func (p *producer) commit(ctx context.Context, appender *outbox.Appender, events []outbox.Event) error {
	return p.docs.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		if _, err := appender.Append(ctx, tx, events...); err != nil {
			return err
		}
		last := events[len(events)-1]
		return tx.Set(p.docs.Collection("business").Doc(last.AggregateID), map[string]any{"version": last.AggregateVersion})
	})
}

// producers makes one for each outbox whose events have consumers.
func (s *stage) producers() []*producer {
	outboxes := slices.DeleteFunc(slices.Clone(s.catalog.Outboxes), func(o *contracts.Outbox) bool {
		return !slices.ContainsFunc(o.Events, func(e *contracts.EventRoute) bool { return len(e.Consumers) > 0 })
	})
	var out []*producer
	for i, o := range outboxes {
		events := s.opts.events / len(outboxes)
		if i < s.opts.events%len(outboxes) {
			events++
		}
		out = append(out, &producer{
			docs: s.clients.Docs, catalog: s.catalog, outbox: o, truth: s.truth, events: events,
			every:  time.Second * time.Duration(len(outboxes)) / time.Duration(s.opts.rate),
			random: rand.New(rand.NewPCG(rand.Uint64(), 0)), versions: make([]int64, s.opts.aggregates()),
		})
	}
	return out
}
