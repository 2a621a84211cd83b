// Package requirements is what a project must have for the relay to run: Firestore
// indexes and TTL policies, Pub/Sub topics and what their subscriptions need, and IAM
// permissions. All of it follows from a catalog and from the code's own queries
// and calls. The files in deploy are generated from it, `outbox-relay catalog` and
// `doctor` read it, and the embedded Firestore holds every test to it.
package requirements

import (
	"io"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
)

//go:generate go run ./gen

// The parts of firestore.indexes.json.
type (
	// CompositeIndex is an index of several fields.
	CompositeIndex = indexes.Composite
	// IndexField is a field of a CompositeIndex.
	IndexField = indexes.Field
	// FieldOverride is an exemption, what is left of a field's indexes, or a TTL policy.
	FieldOverride = indexes.Override
	// SingleFieldIndex is an index of one field.
	SingleFieldIndex = indexes.Single
)

// Requirements are those of one catalog.
type Requirements struct {
	Indexes        []CompositeIndex `json:"indexes"`
	FieldOverrides []FieldOverride  `json:"fieldOverrides"` // exemptions and TTL policies
	Topics         []Topic          `json:"topics"`         // sorted by name
	Collections    []Collection     `json:"collections"`
	Permissions    []Permission     `json:"permissions"`
}

// Of derives what catalog requires.
func Of(catalog *contracts.Catalog) *Requirements {
	file := IndexesOf(catalog)
	return &Requirements{
		Indexes: file.Indexes, FieldOverrides: file.FieldOverrides,
		Topics: topicsOf(catalog), Collections: collectionsOf(catalog), Permissions: permissionsOf(catalog),
	}
}

// IndexFile is the part that firestore.indexes.json holds.
func (r *Requirements) IndexFile() indexes.File {
	return indexes.File{Indexes: r.Indexes, FieldOverrides: r.FieldOverrides}
}

// WriteIndexes writes firestore.indexes.json.
func (r *Requirements) WriteIndexes(w io.Writer) error { return r.IndexFile().Write(w) }
