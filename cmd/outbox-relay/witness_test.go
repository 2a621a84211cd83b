package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"outboxrelay/contracts"
)

// witness knows what was appended and what arrived, and when. It judges the order
// of an aggregate at a target whatever the lane, so also while its events move to
// another.
type witness struct {
	mu       sync.Mutex
	records  map[string]*sighted       // by idempotency key
	highest  map[stream]int64          // the version that came last in order
	lanes    map[string]map[string]int // messages, by event type and the lane that delivered them
	messages int
	replays  int
	late     []string // what came after a higher version of its aggregate
}

// sighted is one record on its way.
type sighted struct {
	outbox  string
	targets []string       // that must get it
	got     map[string]int // messages, by target
	in      time.Time      // when its append was acknowledged; zero: not yet
	there   time.Time      // when the last of its targets got it; zero: not yet
}

// stream is what keeps its order.
type stream struct{ target, outbox, aggregate string }

// tally is how it stands.
type tally struct {
	Records, Messages int
	Missing           int           // records that a target of theirs never got
	Duplicates        int           // messages that their target had
	Strays            int           // messages at targets that are none of their record's
	Replays           int           // messages of dead letters
	Disordered        int           // first arrivals that came after a higher version of their aggregate, replays apart
	Longest           time.Duration // from append to arrival at every target
}

func newWitness() *witness {
	return &witness{records: map[string]*sighted{}, highest: map[stream]int64{}, lanes: map[string]map[string]int{}}
}

// expect announces a record before its append.
func (w *witness) expect(rec *contracts.Record, targets []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[rec.IdempotencyKey] = &sighted{outbox: rec.Outbox, targets: slices.Clone(targets), got: map[string]int{}}
}

// appended says that a record is in.
func (w *witness) appended(rec *contracts.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[rec.IdempotencyKey].in = time.Now()
}

// forget says that an append did not happen.
func (w *witness) forget(rec *contracts.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.records, rec.IdempotencyKey)
}

// arrived books a message by its attributes.
func (w *witness) arrived(a map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, target := w.records[a[contracts.AttrIdempotencyKey]], a[contracts.AttrTarget]
	if r == nil {
		return // of another test
	}
	w.messages++
	eventType := a[contracts.AttrEventType]
	if w.lanes[eventType] == nil {
		w.lanes[eventType] = map[string]int{}
	}
	w.lanes[eventType][a[contracts.AttrLane]]++
	replay := a[contracts.AttrReplay] != ""
	if replay {
		w.replays++
	}
	if r.got[target]++; r.got[target] > 1 {
		return
	}
	if r.complete() && r.there.IsZero() {
		r.there = time.Now()
	}
	if !replay { // which comes after what was delivered meanwhile
		w.order(target, a)
	}
}

// order books the first arrival of a record at a target.
func (w *witness) order(target string, a map[string]string) {
	version, _ := strconv.ParseInt(a[contracts.AttrAggregateVersion], 10, 64) // one that is no number counts as late
	in := stream{target, a[contracts.AttrOutbox], a[contracts.AttrAggregateID]}
	if version < w.highest[in] {
		w.late = append(w.late, fmt.Sprintf("%s v%d at %s after v%d", in.aggregate, version, target, w.highest[in]))
		return
	}
	w.highest[in] = version
}

// complete reports whether every target of a record got it.
func (r *sighted) complete() bool {
	return !slices.ContainsFunc(r.targets, func(t string) bool { return r.got[t] == 0 })
}

// tally tells how it stands.
func (w *witness) tally() tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := tally{Records: len(w.records), Messages: w.messages, Replays: w.replays, Disordered: len(w.late)}
	for _, r := range w.records {
		switch {
		case !r.complete():
			out.Missing++
		case !r.in.IsZero():
			out.Longest = max(out.Longest, r.there.Sub(r.in))
		}
		for target, n := range r.got {
			out.Duplicates += n - 1
			if !slices.Contains(r.targets, target) {
				out.Strays++
			}
		}
	}
	return out
}

// disorder tells what came too late, a few of it.
func (w *witness) disorder() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.late[:min(len(w.late), 5)])
}

// repeated lists the records that a target got more than once, by idempotency key.
func (w *witness) repeated() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for key, r := range w.records {
		for _, n := range r.got {
			if n > 1 {
				out = append(out, key)
				break
			}
		}
	}
	return out
}

// got tells how often each target got a record.
func (w *witness) got(rec *contracts.Record) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.records[rec.IdempotencyKey].got)
}

// arrivedAll reports whether each record has arrived at all of its targets.
func (w *witness) arrivedAll(records []*contracts.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !slices.ContainsFunc(records, func(r *contracts.Record) bool { return !w.records[r.IdempotencyKey].complete() })
}

// lanesOf counts the messages of an event type by the lane that delivered them.
func (w *witness) lanesOf(eventType string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.lanes[eventType])
}

// waits are each outbox's longest, from a record's acknowledged append to its
// arrival at the last of its targets, of what was appended within a time.
func (w *witness) waits(from, to time.Time) map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]time.Duration)
	for _, r := range w.records {
		if !r.in.Before(from) && r.in.Before(to) && !r.there.IsZero() {
			out[r.outbox] = max(out[r.outbox], r.there.Sub(r.in))
		}
	}
	return out
}

// longest is the longest of waits.
func longest(waits map[string]time.Duration) time.Duration {
	var most time.Duration
	for _, d := range waits {
		most = max(most, d)
	}
	return most
}
