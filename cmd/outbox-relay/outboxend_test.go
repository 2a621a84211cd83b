package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

// arrivals collects what reaches every topic of a catalog.
type arrivals struct {
	mu    sync.Mutex
	byKey map[string]map[string]map[string]string // attributes of a message, by idempotency key and target
}

func collectArrivals(t *testing.T, at gcp.Place, catalog *contracts.Catalog) *arrivals {
	t.Helper()
	a := &arrivals{byKey: map[string]map[string]map[string]string{}}
	everything := func(string) bool { return true }
	consume(t, at, "arrivals", catalog.Topics(), everything, func(_ string, attributes map[string]string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		key := attributes[contracts.AttrIdempotencyKey]
		if a.byKey[key] == nil {
			a.byKey[key] = map[string]map[string]string{}
		}
		a.byKey[key][attributes[contracts.AttrTarget]] = attributes
	})
	return a
}

// at returns the attributes of the message of key at a target; nil: none came.
func (a *arrivals) at(key, target string) map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byKey[key][target]
}

// await waits until a record has reached each target that its catalog names.
func (a *arrivals) await(t *testing.T, catalog *contracts.Catalog, box, eventType, key string) {
	t.Helper()
	for _, target := range catalog.Outbox(box).Route(eventType).Targets {
		eventually(t, fmt.Sprintf("%s of %s has reached %s", eventType, box, target), func() bool { return a.at(key, target) != nil })
	}
}

// What producers append with contracts/outbox in their transactions, of every event
// type of the catalog, is delivered: none of it becomes a dead letter.
func TestE2EAppendedEventsAreDelivered(t *testing.T) {
	at, env := anyCloud(t)
	catalog, client := testCatalog(t), mustDialFirestore(t, at).Client
	arrived := collectArrivals(t, at, catalog)
	service := startProgram(t, env, serveArgs...)
	service.stderr.find(t, servingAddr)

	events := outbox.New(client, catalog)
	random := rand.New(rand.NewPCG(1, 2))
	sent := map[outbox.Result]outbox.Event{}
	for _, o := range catalog.Outboxes {
		types := map[string]bool{}
		for version := int64(0); len(types) < len(o.Events); version++ {
			sample := catalog.Sample(random, o, "aggregate-"+o.Name, version, time.Now())
			types[o.Route(sample.EventType).Type] = true
			event := outbox.Event{
				Type: sample.EventType, Outbox: o.Name, AggregateID: sample.AggregateID, AggregateVersion: version, Payload: sample.Payload,
			}
			var results []outbox.Result
			err := client.RunTransaction(t.Context(), func(ctx context.Context, tx *firestore.Transaction) (err error) {
				if results, err = events.Append(ctx, tx, event); err != nil {
					return err
				}
				return tx.Set(client.Doc("business/"+sample.AggregateID), map[string]any{"version": version})
			})
			if err != nil {
				t.Fatal(err)
			}
			sent[results[0]] = event
		}
	}
	for result, event := range sent {
		arrived.await(t, catalog, event.Outbox, event.Type, result.IdempotencyKey)
		for _, target := range catalog.Outbox(event.Outbox).Route(event.Type).Targets {
			got := arrived.at(result.IdempotencyKey, target)
			if got[contracts.AttrEventID] != result.EventID || got[contracts.AttrTraceID] != result.TraceID || got[contracts.AttrOutbox] != event.Outbox {
				t.Errorf("%s arrived at %s as %v, want %+v", event.Type, target, got, result)
			}
		}
	}
	if dead := documents(t, client, contracts.CollectionDeadLetters); len(dead) > 0 {
		t.Errorf("%d of %d became dead letters: %v", len(dead), len(sent), dead)
	}
}
