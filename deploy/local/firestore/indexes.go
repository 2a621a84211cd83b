package firestore

import (
	"slices"

	"outboxrelay/deploy/firestore/indexes"
)

// DeclareIndexes adds indexes while the server runs, which serve at once. An
// override takes the place of what was said of its field before.
func (s *Server) DeclareIndexes(f indexes.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	declared := *s.indexes.Load()
	declared.Indexes = slices.Concat(declared.Indexes, f.Indexes)
	declared.FieldOverrides = slices.Concat(f.FieldOverrides, declared.FieldOverrides)
	s.indexes.Store(&declared)
}
