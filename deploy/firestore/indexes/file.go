// Package indexes is Firestore's index definition file, firestore.indexes.json,
// and the judgement which queries its indexes serve.
package indexes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Orders of an indexed field.
const (
	Ascending  = "ASCENDING"
	Descending = "DESCENDING"
)

// Contains indexes the elements of arrays.
const Contains = "CONTAINS"

// Scopes of an index.
const (
	ScopeCollection = "COLLECTION"       // queries of one collection
	ScopeGroup      = "COLLECTION_GROUP" // queries of all collections of one ID
)

// AnyField, as the field path of an override, stands for every field that has no
// override of its own.
const AnyField = "*"

// File is what `firebase deploy --only firestore:indexes` takes.
type File struct {
	Indexes        []Composite `json:"indexes"`
	FieldOverrides []Override  `json:"fieldOverrides"`
}

// Composite is an index of several fields.
type Composite struct {
	CollectionGroup string  `json:"collectionGroup"`
	QueryScope      string  `json:"queryScope"`
	Fields          []Field `json:"fields"`
}

// Field is a field of a Composite, with an Order or an ArrayConfig.
type Field struct {
	FieldPath   string `json:"fieldPath"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

// On is the index of one collection's fields, ascending but for those with a
// minus before their names.
func On(collection string, fields ...string) Composite {
	c := Composite{CollectionGroup: collection, QueryScope: ScopeCollection}
	for _, name := range fields {
		field := Field{FieldPath: name, Order: Ascending}
		if down, ok := strings.CutPrefix(name, "-"); ok {
			field = Field{FieldPath: down, Order: Descending}
		}
		c.Fields = append(c.Fields, field)
	}
	return c
}

// Override says what is special about one field of a collection group.
type Override struct {
	CollectionGroup string   `json:"collectionGroup"`
	FieldPath       string   `json:"fieldPath"`
	TTL             bool     `json:"ttl,omitempty"` // documents are deleted some time after the time in this field
	Indexes         []Single `json:"indexes"`       // all its single-field indexes; none: it is exempt
}

// Single is an index of one field, with an Order or an ArrayConfig.
type Single struct {
	QueryScope  string `json:"queryScope"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

// Parse reads a file. What it does not know it refuses, so that no index is
// taken for another.
func Parse(data []byte) (File, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f File
	if err := dec.Decode(&f); err != nil {
		return File{}, fmt.Errorf("read Firestore index definitions: %w", err)
	}
	return f, f.Check()
}

// Write writes the file.
func (f File) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}

// Check refuses definitions that Firestore would refuse.
func (f File) Check() error {
	for _, c := range f.Indexes {
		if err := c.check(); err != nil {
			return fmt.Errorf("composite index on %q: %w", c.CollectionGroup, err)
		}
	}
	for _, o := range f.FieldOverrides {
		if o.CollectionGroup == "" || o.FieldPath == "" {
			return fmt.Errorf("field override of %q on %q: it needs a collectionGroup and a fieldPath", o.FieldPath, o.CollectionGroup)
		}
		for _, s := range o.Indexes {
			if err := checkMode(s.QueryScope, s.Order, s.ArrayConfig); err != nil {
				return fmt.Errorf("field override of %q on %q: %w", o.FieldPath, o.CollectionGroup, err)
			}
		}
	}
	return nil
}

func (c Composite) check() error {
	if c.CollectionGroup == "" || len(c.Fields) < 2 {
		return fmt.Errorf("it needs a collectionGroup and two fields at least")
	}
	for _, field := range c.Fields {
		if field.FieldPath == "" {
			return fmt.Errorf("a field lacks its fieldPath")
		}
		if err := checkMode(c.QueryScope, field.Order, field.ArrayConfig); err != nil {
			return fmt.Errorf("field %q: %w", field.FieldPath, err)
		}
	}
	return nil
}

func checkMode(scope, order, array string) error {
	switch {
	case scope != ScopeCollection && scope != ScopeGroup:
		return fmt.Errorf("queryScope is %q, not %s or %s", scope, ScopeCollection, ScopeGroup)
	case array == "" && (order == Ascending || order == Descending), array == Contains && order == "":
		return nil
	}
	return fmt.Errorf("order is %q and arrayConfig %q; it has to be one of order %s, order %s, arrayConfig %s",
		order, array, Ascending, Descending, Contains)
}
