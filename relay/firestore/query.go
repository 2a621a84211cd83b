package firestore

import (
	"math"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// query renders a scan, without its limit. The composite indexes that these
// need are printed by `outbox-relay catalog indexes`.
func query(c *firestore.Client, s relay.Scan) firestore.Query {
	all := c.Collection(s.Outbox).Query
	switch s.Kind {
	case relay.ScanLane:
		return laneOrder(ofShard(withStatus(all, contracts.Pending), s).Where(contracts.FieldLane, "==", string(s.Lane)), s.After)
	case relay.ScanStrays:
		known := make([]string, len(s.Lanes))
		for i, l := range s.Lanes {
			known[i] = string(l)
		}
		return ofShard(withStatus(all, contracts.Pending), s).Where(contracts.FieldLane, "not-in", known).
			OrderBy(contracts.FieldLane, firestore.Asc).OrderBy(contracts.FieldCreatedAt, firestore.Asc)
	case relay.ScanRetrying:
		return byID(ofAggregate(ofShard(withStatus(all, contracts.Retrying), s), s), s)
	case relay.ScanUnordered:
		return byID(ofShard(withStatus(all, contracts.Pending), s), s)
	case relay.ScanEverything:
		return byID(all, s)
	case relay.ScanWithStatus:
		return all.OrderBy(contracts.FieldStatus, firestore.Asc).StartAfter(nil)
	case relay.ScanOddStatus:
		var known []string
		for _, st := range contracts.Statuses() {
			known = append(known, string(st))
		}
		return all.Where(contracts.FieldStatus, "not-in", known)
	case relay.ScanUnsettled:
		return all.Where(contracts.FieldStatus, "not-in", []string{string(contracts.Pending), string(contracts.Delivered), string(contracts.Dead)})
	case relay.ScanNullStatus:
		return all.Where(contracts.FieldStatus, "==", nil)
	case relay.ScanAggregate:
		return byID(ofShard(withStatus(all, contracts.Pending), s).Where(contracts.FieldAggregateID, "==", s.Aggregate), s)
	case relay.ScanHeld:
		return byID(ofAggregate(ofShard(withStatus(all, contracts.Held), s), s), s)
	case relay.ScanShardBelow:
		return shardOrder(withStatus(all, contracts.Pending)).EndBefore(0, nil, nil)
	case relay.ScanShardAbove:
		past := math.Nextafter(float64(s.Shards-1), float64(s.Shards))
		return shardOrder(withStatus(all, contracts.Pending)).StartAt(past, nil, nil)
	}
	return all
}

func withStatus(q firestore.Query, s contracts.Status) firestore.Query {
	return q.Where(contracts.FieldStatus, "==", string(s))
}

// ofShard keeps to one shard of an outbox that has several.
func ofShard(q firestore.Query, s relay.Scan) firestore.Query {
	if s.Shards <= 1 {
		return q
	}
	return q.Where(contracts.FieldShard, "==", s.Shard)
}

// ofAggregate keeps to one aggregate, if the scan names one.
func ofAggregate(q firestore.Query, s relay.Scan) firestore.Query {
	if s.Aggregate == "" {
		return q
	}
	return q.Where(contracts.FieldAggregateID, "==", s.Aggregate)
}

// laneOrder goes on behind a place in a lane's order.
func laneOrder(q firestore.Query, after relay.Position) firestore.Query {
	q = q.OrderBy(contracts.FieldCreatedAt, firestore.Asc)
	switch {
	case after.Zero():
		return q
	case after.ID == "":
		return q.StartAt(after.At)
	}
	return q.OrderBy(firestore.DocumentID, firestore.Asc).StartAfter(after.At, after.ID)
}

// shardOrder sorts by shard, in whose order values of every type have a place: a
// cursor finds them all, a comparison those of its own type alone. Lane and
// createdAt are there for the index, which is that of the lanes; null is first
// of their values.
func shardOrder(q firestore.Query) firestore.Query {
	return q.OrderBy(contracts.FieldShard, firestore.Asc).
		OrderBy(contracts.FieldLane, firestore.Asc).OrderBy(contracts.FieldCreatedAt, firestore.Asc)
}

func byID(q firestore.Query, s relay.Scan) firestore.Query {
	q = q.OrderBy(firestore.DocumentID, firestore.Asc)
	if s.AfterID != "" {
		q = q.StartAfter(s.AfterID)
	}
	return q
}
