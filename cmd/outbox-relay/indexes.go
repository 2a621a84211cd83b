package main

import (
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// firestoreIndexes is the file that `firebase deploy --only firestore:indexes`
// takes.
type firestoreIndexes struct {
	Indexes        []compositeIndex `json:"indexes"`
	FieldOverrides []fieldOverride  `json:"fieldOverrides"`
}

type compositeIndex struct {
	CollectionGroup string       `json:"collectionGroup"`
	QueryScope      string       `json:"queryScope"`
	Fields          []indexField `json:"fields"`
}

type indexField struct {
	FieldPath string `json:"fieldPath"`
	Order     string `json:"order"`
}

type fieldOverride struct {
	CollectionGroup string       `json:"collectionGroup"`
	FieldPath       string       `json:"fieldPath"`
	TTL             bool         `json:"ttl,omitempty"`
	Indexes         []indexField `json:"indexes"` // empty: the field is in no single-field index
}

// indexesOf lists what the service's queries need: those of the relay on each
// outbox, and those of the dead-letter queue. A payload is never queried, and an
// index on expireAt would be a hot spot: both are exempt, which also saves their
// index writes.
func indexesOf(catalog *contracts.Catalog) firestoreIndexes {
	var out firestoreIndexes
	for _, outbox := range catalog.Outboxes {
		out.Indexes = append(out.Indexes, ascending(outbox.Name, contracts.FieldStatus, contracts.FieldLane, contracts.FieldCreatedAt))
		out.FieldOverrides = append(
			out.FieldOverrides,
			exempt(outbox.Name, contracts.FieldPayload),
			fieldOverride{CollectionGroup: outbox.Name, FieldPath: contracts.FieldExpireAt, TTL: true, Indexes: []indexField{}},
		)
	}
	for _, index := range dlq.Indexes() {
		c := ascending(index.Collection, index.Equal...)
		for _, o := range index.OrderBy {
			c.Fields = append(c.Fields, indexField{FieldPath: o.Field, Order: direction(o.Desc)})
		}
		out.Indexes = append(out.Indexes, c)
	}
	for _, field := range dlq.Unindexed() {
		out.FieldOverrides = append(out.FieldOverrides, exempt(contracts.CollectionDeadLetters, field))
	}
	return out
}

func ascending(collection string, fields ...string) compositeIndex {
	index := compositeIndex{CollectionGroup: collection, QueryScope: "COLLECTION"}
	for _, f := range fields {
		index.Fields = append(index.Fields, indexField{FieldPath: f, Order: direction(false)})
	}
	return index
}

func direction(desc bool) string {
	if desc {
		return "DESCENDING"
	}
	return "ASCENDING"
}

// exempt takes a field out of all single-field indexes.
func exempt(collection, field string) fieldOverride {
	return fieldOverride{CollectionGroup: collection, FieldPath: field, Indexes: []indexField{}}
}
