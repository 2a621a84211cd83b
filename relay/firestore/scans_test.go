package firestore_test

import (
	"math"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// shards is what the outbox of these tests has.
const shards = 3

// gone, as the value of a field, leaves it out.
const gone = "\x00gone"

// record is a pending record of the standard lane in shard 1, changed by pairs
// of a field's name and its value.
func record(changes ...any) map[string]any {
	fields := map[string]any{
		contracts.FieldStatus: "pending", contracts.FieldLane: "STANDARD_LANE", contracts.FieldShard: 1,
		contracts.FieldAggregateID: "a", contracts.FieldCreatedAt: time.Unix(100, 0),
	}
	for i := 0; i < len(changes); i += 2 {
		name := changes[i].(string)
		if fields[name] = changes[i+1]; changes[i+1] == gone {
			delete(fields, name)
		}
	}
	return fields
}

// zoo holds a record of every kind that the scans tell apart, by document ID.
func zoo() map[string]map[string]any {
	return map[string]map[string]any{
		"!canary-below": record("shard", nil, "lane", nil, "createdAt", nil),
		"!canary-above": record("shard", shards, "lane", nil, "createdAt", nil),

		"sound-0":      record("shard", 0),
		"sound-1":      record("createdAt", time.Unix(200, 0)),
		"sound-1-old":  record(),
		"sound-1-fast": record("lane", "CRITICAL_LANE"),
		"sound-2":      record("shard", 2),
		"stray":        record("lane", "FAST_LANE"),
		"no-lane":      record("lane", gone),
		"no-createdAt": record("createdAt", gone),

		"double-1": record("shard", 1.0, "createdAt", time.Unix(300, 0)),
		"between":  record("shard", 0.5),
		"no-shard": record("shard", gone),
		"null":     record("shard", nil),
		"true":     record("shard", true),
		"nan":      record("shard", math.NaN()),
		"negative": record("shard", -1),
		"past-2.5": record("shard", 2.5),
		"past-3":   record("shard", shards),
		"past-max": record("shard", math.MaxInt64),
		"time":     record("shard", time.Unix(1, 0)),
		"text":     record("shard", "1"),
		"bytes":    record("shard", []byte{1}),
		"list":     record("shard", []any{1}),
		"map":      record("shard", map[string]any{"is": 1}),
		"odd-both": record("shard", "2", "lane", "FAST_LANE"),
		"odd-lost": record("shard", "2", "lane", gone),

		"retrying-1":    record("status", "retrying"),
		"retrying-2-b":  record("status", "retrying", "shard", 2, "aggregateId", "b"),
		"retrying-odd":  record("status", "retrying", "shard", 7),
		"held-1-a":      record("status", "held"),
		"held-1-b":      record("status", "held", "aggregateId", "b"),
		"held-0-a":      record("status", "held", "shard", 0),
		"delivered-odd": record("status", "delivered", "shard", "x"),
	}
}

// scans says what each finds in the zoo, in its order.
var scans = []struct {
	name  string
	scan  relay.Scan
	watch bool // the relay listens to it
	want  string
}{
	{
		"a lane of a shard",
		relay.Scan{Kind: relay.ScanLane, Lane: contracts.StandardLane, Shard: 1, Shards: shards},
		true,
		"sound-1-old sound-1 double-1",
	},
	{"the first shard", relay.Scan{Kind: relay.ScanLane, Lane: contracts.StandardLane, Shards: shards}, true, "sound-0"},
	{
		"a lane of a shard, from a time on", relay.Scan{
			Kind: relay.ScanLane, Lane: contracts.StandardLane, Shard: 1, Shards: shards, After: relay.Position{At: time.Unix(200, 0)},
		}, true, "sound-1 double-1",
	},
	{
		"a lane of a shard, behind a record", relay.Scan{
			Kind: relay.ScanLane, Lane: contracts.StandardLane, Shard: 1, Shards: shards, After: relay.Position{At: time.Unix(200, 0), ID: "sound-1"},
		}, false, "double-1",
	},
	{"strays of a shard", relay.Scan{Kind: relay.ScanStrays, Lanes: contracts.Lanes(), Shard: 1, Shards: shards}, true, "stray"},
	{"strays of a shard without any", relay.Scan{Kind: relay.ScanStrays, Lanes: contracts.Lanes(), Shard: 2, Shards: shards}, true, ""},
	{"backoff in a shard", relay.Scan{Kind: relay.ScanRetrying, Shard: 1, Shards: shards}, false, "retrying-1"},
	{"backoff", relay.Scan{Kind: relay.ScanRetrying}, false, "retrying-1 retrying-2-b retrying-odd"},
	{"backoff of an aggregate in a shard", relay.Scan{Kind: relay.ScanRetrying, Aggregate: "a", Shard: 1, Shards: shards}, false, "retrying-1"},
	{"backoff of an aggregate", relay.Scan{Kind: relay.ScanRetrying, Aggregate: "a"}, false, "retrying-1 retrying-odd"},
	{
		"a shard by document ID",
		relay.Scan{Kind: relay.ScanUnordered, Shard: 1, Shards: shards},
		false,
		"double-1 no-createdAt no-lane sound-1 sound-1-fast sound-1-old stray",
	},
	{"a shard from a document ID on", relay.Scan{Kind: relay.ScanUnordered, Shard: 1, Shards: shards, AfterID: "sound-1"}, false, "sound-1-fast sound-1-old stray"},
	{"an aggregate of a shard", relay.Scan{Kind: relay.ScanAggregate, Aggregate: "a", Shard: 2, Shards: shards}, false, "sound-2"},
	{"held in a shard", relay.Scan{Kind: relay.ScanHeld, Shard: 1, Shards: shards}, false, "held-1-a held-1-b"},
	{"held of an aggregate in a shard", relay.Scan{Kind: relay.ScanHeld, Aggregate: "a", Shard: 1, Shards: shards}, false, "held-1-a"},
	{"held of an aggregate", relay.Scan{Kind: relay.ScanHeld, Aggregate: "a"}, false, "held-0-a held-1-a"},
	{"below the first shard", relay.Scan{Kind: relay.ScanShardBelow, Shards: shards}, true, "!canary-below null true nan negative"},
	{
		"above the last shard",
		relay.Scan{Kind: relay.ScanShardAbove, Shards: shards},
		true,
		"past-2.5 !canary-above past-3 past-max time text odd-both bytes list map",
	},
}
