package simulation

import (
	"cmp"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

// scanned returns the documents of one of the relay's queries, in its order.
func scanned(docs map[string]*document, s relay.Scan) []*document {
	var out []*document
	for _, d := range docs {
		if matchesScan(d, s) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *document) int { return scanOrder(s, a, b) })
	if s.Limit > 0 && len(out) > s.Limit {
		out = out[:s.Limit]
	}
	return out
}

func matchesScan(d *document, s relay.Scan) bool {
	status, hasStatus := d.fields[contracts.FieldStatus]
	lane, hasLane := d.fields[contracts.FieldLane]
	created, hasCreated := d.fields[contracts.FieldCreatedAt]
	shard := d.fields[contracts.FieldShard]
	is := func(st contracts.Status) bool { return status == string(st) && inShard(shard, s) }
	ofAggregate := s.Aggregate == "" || d.fields[contracts.FieldAggregateID] == s.Aggregate
	behind := s.AfterID == "" || d.id > s.AfterID
	switch s.Kind {
	case relay.ScanLane:
		return is(contracts.Pending) && lane == string(s.Lane) && hasCreated && isAfter(created, d.id, s.After)
	case relay.ScanStrays:
		return is(contracts.Pending) && hasLane && lane != nil && hasCreated && !slices.Contains(s.Lanes, contracts.Lane(textOf(lane)))
	case relay.ScanRetrying:
		return is(contracts.Retrying) && ofAggregate && behind
	case relay.ScanUnordered:
		return is(contracts.Pending) && behind
	case relay.ScanEverything:
		return behind
	case relay.ScanWithStatus:
		return hasStatus && status != nil
	case relay.ScanOddStatus:
		return hasStatus && status != nil && !slices.Contains(contracts.Statuses(), contracts.Status(textOf(status)))
	case relay.ScanUnsettled:
		return hasStatus && status != nil && !slices.Contains([]string{string(contracts.Pending), string(contracts.Delivered), string(contracts.Dead)}, textOf(status))
	case relay.ScanNullStatus:
		return hasStatus && status == nil
	case relay.ScanAggregate:
		return is(contracts.Pending) && ofAggregate && behind
	case relay.ScanHeld:
		return is(contracts.Held) && ofAggregate && behind
	case relay.ScanShardBelow, relay.ScanShardAbove:
		v, hasShard := d.fields[contracts.FieldShard]
		if status != string(contracts.Pending) || !hasShard || !hasLane || !hasCreated {
			return false
		}
		if s.Kind == relay.ScanShardBelow {
			return compare(v, int64(0)) < 0
		}
		return compare(v, float64(s.Shards-1)) > 0
	}
	return false
}

func textOf(v any) string {
	s, ok := v.(string)
	if !ok {
		return "\x00no text"
	}
	return s
}

func inShard(v any, s relay.Scan) bool {
	return s.Shards <= 1 || compare(v, int64(s.Shard)) == 0
}

func isAfter(created any, id string, p relay.Position) bool {
	if p.Zero() {
		return true
	}
	switch c := compare(created, p.At); {
	case c != 0:
		return c > 0
	case p.ID == "":
		return true
	}
	return id > p.ID
}

func scanOrder(s relay.Scan, a, b *document) int {
	by := func(names ...string) int {
		for _, name := range names {
			if c := compare(a.fields[name], b.fields[name]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.id, b.id)
	}
	switch s.Kind {
	case relay.ScanLane:
		return by(contracts.FieldCreatedAt)
	case relay.ScanStrays:
		return by(contracts.FieldLane, contracts.FieldCreatedAt)
	case relay.ScanShardBelow, relay.ScanShardAbove:
		return by(contracts.FieldShard, contracts.FieldLane, contracts.FieldCreatedAt)
	}
	return by()
}

// queried returns the documents of one of the queue's queries, in its order.
func queried(docs map[string]*document, q dlq.Query) []*document {
	var out []*document
	for _, d := range docs {
		if matchesQuery(d, q) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *document) int { return queryOrder(q, a, b) })
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

func valueAt(d *document, path string) (any, bool) {
	if path == dlq.FieldID {
		return d.id, true
	}
	return field(d.fields, path)
}

func matchesQuery(d *document, q dlq.Query) bool {
	for _, w := range q.Where {
		v, ok := valueAt(d, w.Field)
		if !ok || !holds(v, w) {
			return false
		}
	}
	for _, o := range q.OrderBy {
		if _, ok := valueAt(d, o.Field); !ok {
			return false
		}
	}
	return len(q.StartAfter) == 0 || startsAfter(d, q)
}

func holds(v any, w dlq.Where) bool {
	if w.Op == "in" {
		list, _ := stored(w.Value, time.Time{}).([]any)
		return slices.ContainsFunc(list, func(each any) bool { return rank(v) == rank(each) && compare(v, each) == 0 })
	}
	want := stored(w.Value, time.Time{})
	if rank(v) != rank(want) {
		return false
	}
	c := compare(v, want)
	switch w.Op {
	case "==":
		return c == 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return false
}

// orderOf is a query's whole order: Firestore adds what it compares, and the ID.
func orderOf(q dlq.Query) []dlq.Order {
	order := slices.Clone(q.OrderBy)
	if len(order) == 0 {
		for _, w := range q.Where {
			if w.Op != "==" && w.Op != "in" {
				order = append(order, dlq.Order{Field: w.Field})
				break
			}
		}
	}
	if !slices.ContainsFunc(order, func(o dlq.Order) bool { return o.Field == dlq.FieldID }) {
		order = append(order, dlq.Order{Field: dlq.FieldID, Desc: len(order) > 0 && order[len(order)-1].Desc})
	}
	return order
}

func queryOrder(q dlq.Query, a, b *document) int {
	for _, o := range orderOf(q) {
		va, _ := valueAt(a, o.Field)
		vb, _ := valueAt(b, o.Field)
		c := compare(va, vb)
		if o.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func startsAfter(d *document, q dlq.Query) bool {
	for i, o := range orderOf(q) {
		if i >= len(q.StartAfter) {
			return false // at the cursor
		}
		v, _ := valueAt(d, o.Field)
		c := compare(v, stored(q.StartAfter[i], time.Time{}))
		if o.Desc {
			c = -c
		}
		if c != 0 {
			return c > 0
		}
	}
	return false
}
