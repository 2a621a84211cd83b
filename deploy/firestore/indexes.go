// Package firestore is what a project's Firestore is deployed with: the security
// rules, and the indexes of the built-in catalog.
package firestore

import (
	_ "embed"
	"sync"

	"outboxrelay/deploy/firestore/indexes"
)

//go:embed firestore.indexes.json
var file []byte

// Indexes returns the indexes of firestore.indexes.json, not to be changed.
var Indexes = sync.OnceValue(func() indexes.File {
	f, err := indexes.Parse(file)
	if err != nil {
		panic(err) // its test holds the file to this
	}
	return f
})
