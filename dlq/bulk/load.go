package bulk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"outboxrelay/dlq"
)

// loading is how far a run has read what it goes on from: a call that fails is tried
// again, and what was read before it is not read again.
type loading struct {
	pinned bool   // all pins are there
	after  string // where to read them on
	items  map[int]*dlq.Item
	read   int // of how many pins the items are there
}

// load reads the pinned items and judges by them how far the runs before came. After an
// error it goes on where it was.
func (r *run) load(ctx context.Context) error {
	for !r.loading.pinned {
		pins, next, err := r.page(ctx, r.loading.after)
		if err != nil {
			return err
		}
		r.moved = true
		r.pins = append(r.pins, pins...)
		r.loading.after, r.loading.pinned = next, next == ""
	}
	if len(r.pins) != r.bulk.Total {
		return errLost
	}
	for r.loading.read < len(r.pins) {
		some := make([]int, 0, itemsAtOnce)
		for n := r.loading.read; n < min(r.loading.read+itemsAtOnce, len(r.pins)); n++ {
			some = append(some, n)
		}
		items, err := r.items(ctx, some)
		if err != nil {
			return err
		}
		r.moved = true
		maps.Copy(r.loading.items, items)
		r.loading.read += len(some)
	}
	r.first = canaries(r.pins)
	r.states, r.held = make([]pinState, len(r.pins)), make([]held, len(r.pins))
	r.recall(r.loading.items)
	r.loading = loading{}
	r.count()
	return nil
}

// recall judges all pins, and brings back how the latest of them ended.
func (r *run) recall(items map[int]*dlq.Item) {
	type ended struct {
		at     time.Time
		failed bool
	}
	var ends []ended
	for n, p := range r.pins {
		i := items[n]
		j := judge(p, i, r.bulk.ID)
		r.states[n] = j.state
		r.learn(n, i)
		if j.state == pinSkipped {
			r.passed[n] = j
		}
		if s := j.state; s == pinDelivered || s == pinFailed {
			e := ended{failed: s == pinFailed}
			if i.LastReplay != nil {
				e.at = i.LastReplay.At
			}
			ends = append(ends, e)
		}
	}
	slices.SortStableFunc(ends, func(a, b ended) int { return a.at.Compare(b.at) })
	r.latest = endings{}
	for _, e := range ends {
		r.latest.add(e.failed)
	}
}

// itemsAtOnce is how many items one call reads.
const itemsAtOnce = 120

// items reads the items of pins; one that is gone is missing.
func (r *run) items(ctx context.Context, pins []int) (map[int]*dlq.Item, error) {
	out := make(map[int]*dlq.Item, len(pins))
	for some := range slices.Chunk(pins, itemsAtOnce) {
		ids := make([]string, len(some))
		for k, n := range some {
			ids[k] = r.pins[n].ID
		}
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		items, err := r.queue.Pinned(c, ids)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("read items: %w", err)
		}
		for k, n := range some {
			if i := items[ids[k]]; i != nil {
				out[n] = i
			}
		}
	}
	return out, nil
}

// page reads a page of the pinned items.
func (r *run) page(ctx context.Context, after string) ([]dlq.Pin, string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	return r.queue.Pins(ctx, r.bulk, after)
}
