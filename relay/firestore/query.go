package firestore

import (
	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// query renders a scan, without its limit. The composite indexes that these
// need are printed by `outbox-relay catalog indexes`.
func query(c *firestore.Client, s relay.Scan) firestore.Query {
	q := c.Collection(s.Outbox).Query
	pending := q.Where(contracts.FieldStatus, "==", string(contracts.Pending))
	switch s.Kind {
	case relay.ScanLane:
		q = pending.Where(contracts.FieldLane, "==", string(s.Lane)).
			OrderBy(contracts.FieldCreatedAt, firestore.Asc)
		switch {
		case s.After.Zero():
		case s.After.ID == "":
			q = q.StartAt(s.After.At)
		default:
			q = q.OrderBy(firestore.DocumentID, firestore.Asc).StartAfter(s.After.At, s.After.ID)
		}
	case relay.ScanStrays:
		known := make([]string, len(s.Lanes))
		for i, l := range s.Lanes {
			known[i] = string(l)
		}
		q = pending.Where(contracts.FieldLane, "not-in", known).
			OrderBy(contracts.FieldLane, firestore.Asc).OrderBy(contracts.FieldCreatedAt, firestore.Asc)
	case relay.ScanRetrying:
		q = byID(q.Where(contracts.FieldStatus, "==", string(contracts.Retrying)), s)
	case relay.ScanUnordered:
		q = byID(pending, s)
	case relay.ScanEverything:
		q = byID(q, s)
	case relay.ScanWithStatus:
		q = q.OrderBy(contracts.FieldStatus, firestore.Asc)
	case relay.ScanOddStatus:
		var known []string
		for _, st := range contracts.Statuses() {
			known = append(known, string(st))
		}
		q = q.Where(contracts.FieldStatus, "not-in", known)
	case relay.ScanNullStatus:
		q = q.Where(contracts.FieldStatus, "==", nil)
	case relay.ScanAggregate:
		q = byID(pending.Where(contracts.FieldAggregateID, "==", s.Aggregate), s)
	case relay.ScanHeld:
		q = q.Where(contracts.FieldStatus, "==", string(contracts.Held))
		if s.Aggregate != "" {
			q = q.Where(contracts.FieldAggregateID, "==", s.Aggregate)
		}
		q = byID(q, s)
	}
	return q
}

func byID(q firestore.Query, s relay.Scan) firestore.Query {
	q = q.OrderBy(firestore.DocumentID, firestore.Asc)
	if s.AfterID != "" {
		q = q.StartAfter(s.AfterID)
	}
	return q
}
