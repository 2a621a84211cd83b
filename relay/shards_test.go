package relay_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/requirements"
)

// shard gives an outbox so many shards, for relays that are started later.
func (f *fixture) shard(outbox string, shards int) {
	f.catalog.Outbox(outbox).Shards = shards
	if f.cloud.embedded != nil {
		f.cloud.embedded.DeclareIndexes(requirements.IndexesOf(f.catalog))
	}
}

func TestShardsAreSpread(t *testing.T)         { spreadShards(t, newCloud(t)) }
func TestShardsAreSpreadOnGoogle(t *testing.T) { spreadShards(t, onGoogle(t)) }

// The shards of an outbox are owned by several instances, which come and go
// while records flow. Each aggregate keeps its order.
func spreadShards(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.shard("wsOutbox", 4)
	const term = 10 * time.Second
	f.member("a", term, nil)
	f.spread(map[string]int{"a": 9})
	flow := f.flow(f.catalog, flowEvery)
	b := f.member("b", term, nil)
	f.spread(map[string]int{"a": 5, "b": 4})
	records := f.records("wsOutbox", 60, 12)
	f.append(records, 7)
	f.member("c", term, nil)
	leases := f.spread(map[string]int{"a": 3, "b": 3, "c": 3})
	owners := map[string]bool{}
	for share, l := range leases {
		if strings.HasPrefix(share, "wsOutbox.") {
			owners[l.Owner] = true
		}
	}
	if len(owners) < 2 {
		t.Errorf("the shards are owned by %v, want several", owners)
	}
	more := f.recordsFrom("wsOutbox", 6, 60, 12)
	f.append(more, 7)
	flow.on(30)
	b.stop()
	f.spread(map[string]int{"a": 5, "c": 4})
	flow.on(30)
	if got, want := f.delivered(slices.Concat(records, more, flow.end())), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// recordsFrom is records for versions that follow.
func (f *fixture) recordsFrom(outbox string, version int64, n, aggregates int) []*contracts.Record {
	f.t.Helper()
	records := f.records(outbox, n+int(version-1)*aggregates, aggregates)
	return slices.DeleteFunc(records, func(r *contracts.Record) bool { return r.AggregateVersion < version })
}

// Records of no shard are dead-lettered by their fault, whichever way their
// shard is bad, and those around them are delivered.
func TestRecordsOfNoShard(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 300 * time.Millisecond
	f.shard("wsOutbox", 2)
	f.member("a", 10*time.Second, nil)
	f.spread(map[string]int{"a": 7})
	f.member("b", 10*time.Second, nil)
	f.spread(map[string]int{"a": 4, "b": 3})
	neighbours := f.records("wsOutbox", 20, 4)
	f.append(neighbours[:10], 5)
	var bad []*contracts.Record
	for name, shard := range map[string]any{
		"missing": absent{}, "null": nil, "negative": -1, "too-large": 2, "far-too-large": math.MaxInt64, "fraction": 0.5, "no-number": math.NaN(),
		"text": "1", "truth": true, "list": []any{1}, "map": map[string]any{"shard": 1},
	} {
		r := f.record("wsOutbox", "TaskCompleted", "bad-"+name, 1)
		fields := r.ProducerFields()
		fields["createdAt"] = firestore.ServerTimestamp
		fields["shard"] = shard
		if shard == any(absent{}) {
			delete(fields, "shard")
		}
		if _, err := f.db.Collection(r.Outbox).Doc(r.ID).Create(f.ctx, fields); err != nil {
			t.Fatal(err)
		}
		bad = append(bad, r)
	}
	f.append(neighbours[10:], 5)
	if got, want := f.delivered(neighbours), (judgement{}); got != want {
		t.Errorf("neighbours: got %+v, want every record once and in order", got)
	}
	f.eventually("all of no shard are dead", func() bool { return f.unmarked(bad, contracts.Dead) == 0 })
	letters := f.deadLetters()
	for _, r := range bad {
		letter := letters[r.IdempotencyKey]
		if letter["reason"] != string(contracts.ContractViolation) || !strings.Contains(fmt.Sprint(letter["errors"]), "shard") {
			t.Errorf("%s: reason %v, errors %v; want a violation that names the shard", r.AggregateID, letter["reason"], letter["errors"])
		}
	}
	if len(letters) != len(bad) {
		t.Errorf("got %d dead letters, want %d", len(letters), len(bad))
	}
}

// An outbox is given more shards between two runs. What the runs before left,
// pending and in backoff, is delivered in its order.
func TestMoreShardsAfterARestart(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	for _, shards := range [][2]int{{2, 4}, {1, 3}} {
		t.Run(fmt.Sprintf("from %d to %d", shards[0], shards[1]), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.SweepInterval = 300 * time.Millisecond
			f.retries(1000, 200*time.Millisecond) // none is used up before the mending
			var mended atomic.Bool
			// The outage waits until one is in backoff: an open breaker would
			// keep it from its attempts, or have it wait as pending again.
			inBackoff := make(chan struct{})
			f.script(func(ctx context.Context, _ string, r *contracts.Record) error {
				switch {
				case mended.Load():
					return nil
				case strings.HasSuffix(r.AggregateID, "-1"):
					return failure(contracts.Attributable, "Internal")
				}
				select {
				case <-inBackoff:
				case <-ctx.Done():
				}
				return failure(contracts.Outage, "Unavailable")
			})
			f.shard("wsOutbox", shards[0])
			a := f.member("a", 10*time.Second, nil)
			f.spread(map[string]int{"a": 5 + shards[0]})
			records := f.records("wsOutbox", 60, 6)
			if shards[0] == 1 { // whose producers wrote the field before the catalog said so
				for _, r := range records {
					r.Shard = new(int64(contracts.ShardOf(r.AggregateID, shards[1])))
				}
			}
			f.append(records, 7)
			f.eventually("one is in backoff", func() bool { return f.count(contracts.Retrying) > 0 })
			close(inBackoff)
			a.stop()

			f.shard("wsOutbox", shards[1])
			mended.Store(true)
			var late []*contracts.Record
			for n := range 30 {
				late = append(late, f.record("wsOutbox", "TaskCompleted", fmt.Sprint("late-", n), 1))
			}
			f.append(late, 5)
			f.member("a", 10*time.Second, nil)
			f.eventually("each shard is owned", func() bool {
				leases := f.leases()
				for _, share := range f.catalog.Shares() {
					if leases[share.String()].Owner != "a" {
						return false
					}
				}
				return true
			})
			if got, want := f.delivered(slices.Concat(records, late)), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if dead := f.deadLetters(); len(dead) > 0 {
				t.Errorf("got %d dead letters, want none", len(dead))
			}
		})
	}
}
