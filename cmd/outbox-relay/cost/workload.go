package cost

import (
	"errors"
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// Workload is what a cost is asked for.
type Workload struct {
	Catalog *contracts.Catalog
	Rate    float64            // records a second, over all outboxes
	Payload float64            // bytes of a record's payload
	Split   map[string]float64 // weights of outboxes; nil: all the same

	// What the catalog says otherwise; it decides where these are OfCatalog, or empty.
	FanOut      float64 // Pub/Sub targets of a record
	Claims      float64 // share of role and policy changes
	OnDelivered contracts.OnDelivered
	Retention   time.Duration

	Failing float64 // share of records that fail once before they are delivered
	Dead    float64 // share of records that become dead letters
	Backlog float64 // share of records that are read out of a backlog

	Queues Queues // work queues beside the records; see NoQueues

	Subscriptions float64 // of each topic
	Instances     int     // 0: as many as are needed
	CPU           float64 // of an instance
	Memory        float64 // GiB of an instance; 0: as much as is needed
	Schedule      Schedule

	Prices *Prices
	Region string
	Free   bool // take off what is free
}

// OfCatalog is the FanOut and Claims of a workload that leaves them to its catalog.
const OfCatalog = -1

// Bounds of what is asked for: beyond them the formulas say nothing.
const (
	maxRate    = 100_000
	maxPayload = 1 << 20 // Firestore's limit for a document
	maxTopics  = 100
	maxFleet   = 1000
)

// Validate names everything that is out of range.
func (w *Workload) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(w.Rate > 0) || w.Rate > maxRate {
		fault("rate is %v records a second, want more than 0 and at most %d", w.Rate, maxRate)
	}
	if !(w.Payload >= 0) || w.Payload > maxPayload {
		fault("size is %v bytes, want 0 to 1 MiB: no document of Firestore is larger", w.Payload)
	}
	if w.FanOut > maxTopics || !(w.FanOut >= 0) && w.FanOut != OfCatalog {
		fault("fan-out is %v, want 0 to %d targets for a record", w.FanOut, maxTopics)
	}
	for _, s := range []struct {
		name  string
		value float64
	}{{"claims", w.Claims}, {"failing", w.Failing}, {"dead", w.Dead}, {"backlog", w.Backlog}} {
		if s.value > 1 || !(s.value >= 0) && !(s.name == "claims" && s.value == OfCatalog) {
			fault("%s is %v, want a share of the records from 0%% to 100%%", s.name, s.value)
		}
	}
	if w.Retention < 0 {
		fault("retention is %v, want 0 or more", w.Retention)
	}
	if w.Instances < 0 || w.Instances > maxFleet {
		fault("instances are %d, want 1 to %d, or 0 for as many as are needed", w.Instances, maxFleet)
	}
	if !(w.CPU > 0) || w.CPU > 8 {
		fault("cpu is %v, want more than 0 and at most 8: Cloud Run has no larger instance", w.CPU)
	}
	if !(w.Memory >= 0) || w.Memory > 32 {
		fault("memory is %v GiB, want 0 to 32: Cloud Run has no larger instance", w.Memory)
	}
	if !(w.Subscriptions >= 0) || w.Subscriptions > maxTopics {
		fault("subscriptions are %v, want 0 to %d for each topic", w.Subscriptions, maxTopics)
	}
	return errors.Join(append(errs, w.Queues.validate())...)
}

// catalog is the workload's, with its own word on what is done with delivered
// records.
func (w *Workload) catalog() *contracts.Catalog {
	out := *w.Catalog
	out.Outboxes = make([]*contracts.Outbox, len(w.Catalog.Outboxes))
	for n, o := range w.Catalog.Outboxes {
		changed := *o
		if w.OnDelivered != "" {
			changed.OnDelivered = w.OnDelivered
		}
		if w.Retention > 0 {
			changed.Retention = w.Retention
		}
		out.Outboxes[n] = &changed
	}
	return &out
}
