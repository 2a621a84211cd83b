package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// pinFields are what tells how far a bulk replay has got with an item.
var pinFields = []string{
	contracts.DeadFieldTier, contracts.DeadFieldState, contracts.DeadFieldDeadAt, contracts.DeadFieldReplays, contracts.DeadFieldReplaying,
	contracts.DeadFieldLastReplay, contracts.DeadFieldDecisions, contracts.FieldTraceID,
}

// load reads the pinned items and judges by them how far the runs before came.
func (r *bulkRun) load(ctx context.Context) error {
	r.pins = nil
	query := Query{Collection: pinCollection(r.bulk.Pinned), OrderBy: []Order{{Field: FieldID}}, Limit: 10}
	for {
		docs, err := r.read(ctx, query)
		if err != nil {
			return fmt.Errorf("read pinned items: %w", err)
		}
		for _, d := range docs {
			r.pins = append(r.pins, decodePins(d)...)
		}
		if len(docs) < query.Limit {
			break
		}
		query.StartAfter = []any{docs[len(docs)-1].ID}
	}
	if len(r.pins) != r.bulk.Total {
		return errLost
	}
	r.first = canaries(r.pins)
	r.states = make([]pinState, len(r.pins))
	all := make([]int, len(r.pins))
	for n := range all {
		all[n] = n
	}
	items, err := r.items(ctx, all)
	if err != nil {
		return err
	}
	r.recall(items)
	r.count()
	return nil
}

// recall judges all pins, and brings back how the latest of them ended.
func (r *bulkRun) recall(items map[int]*Item) {
	type ended struct {
		at     time.Time
		failed bool
	}
	var ends []ended
	for n, p := range r.pins {
		i := items[n]
		r.states[n] = p.judge(i, r.bulk.ID)
		if s := r.states[n]; s == pinDelivered || s == pinFailed {
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

// items reads the items of pins; one that is gone is missing.
func (r *bulkRun) items(ctx context.Context, pins []int) (map[int]*Item, error) {
	out := make(map[int]*Item, len(pins))
	for some := range slices.Chunk(pins, partlyAtOnce*maxIn) {
		ids := make([]string, len(some))
		for k, n := range some {
			ids[k] = r.pins[n].id
		}
		c, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
		items, err := r.queue.partly(c, pinFields, ids)
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

func (r *bulkRun) read(ctx context.Context, q Query) ([]Doc, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.CallBound)
	defer cancel()
	return r.queue.store.Query(ctx, q)
}
