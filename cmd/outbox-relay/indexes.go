package main

import "outboxrelay/contracts"

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

// indexesOf lists what the relay's queries on each outbox need. A payload is
// never queried, and an index on expireAt would be a hot spot: both are exempt,
// which also saves their index writes.
func indexesOf(catalog *contracts.Catalog) firestoreIndexes {
	var out firestoreIndexes
	for _, outbox := range catalog.Outboxes {
		out.Indexes = append(out.Indexes, ascending(outbox.Name, contracts.FieldStatus, contracts.FieldLane, contracts.FieldCreatedAt))
		out.FieldOverrides = append(out.FieldOverrides,
			fieldOverride{CollectionGroup: outbox.Name, FieldPath: contracts.FieldPayload, Indexes: []indexField{}},
			fieldOverride{CollectionGroup: outbox.Name, FieldPath: contracts.FieldExpireAt, TTL: true, Indexes: []indexField{}},
		)
	}
	return out
}

func ascending(collection string, fields ...string) compositeIndex {
	index := compositeIndex{CollectionGroup: collection, QueryScope: "COLLECTION"}
	for _, f := range fields {
		index.Fields = append(index.Fields, indexField{FieldPath: f, Order: "ASCENDING"})
	}
	return index
}
