package firestore

import (
	"maps"
	"sync"
)

// Operations counts what Firestore bills for.
type Operations struct {
	Reads   int64 `json:"reads"`
	Writes  int64 `json:"writes"`
	Deletes int64 `json:"deletes"`
}

// Billing is what has been used since the server started or the count was reset,
// in all and by the ID of the collection.
//
// A document that a query or a get returns, or that enters a listener's result,
// changes in it, or leaves it because it changed, is one read. A document that is
// deleted, or pushed out of a limited result by another, is none. A query without
// a result is one read, a count is one for each 1000 documents counted.
type Billing struct {
	Operations
	Collections map[string]Operations `json:"collections"`
}

type meter struct {
	mu    sync.Mutex
	total Billing
}

func (m *meter) read(collection string, n int) { m.count(collection, Operations{Reads: int64(n)}) }

func (m *meter) write(collection string, n int) { m.count(collection, Operations{Writes: int64(n)}) }

func (m *meter) delete(collection string, n int) { m.count(collection, Operations{Deletes: int64(n)}) }

func (m *meter) count(collection string, n Operations) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total.Collections == nil {
		m.total.Collections = map[string]Operations{}
	}
	m.total.Operations = m.total.plus(n)
	m.total.Collections[collection] = m.total.Collections[collection].plus(n)
}

func (o Operations) plus(n Operations) Operations {
	return Operations{o.Reads + n.Reads, o.Writes + n.Writes, o.Deletes + n.Deletes}
}

func (m *meter) snapshot() Billing {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.total
	if b.Collections = maps.Clone(b.Collections); b.Collections == nil {
		b.Collections = map[string]Operations{}
	}
	return b
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total = Billing{}
}

// Billing returns what has been used so far.
func (s *Server) Billing() Billing { return s.billing.snapshot() }

// ResetBilling starts the count anew.
func (s *Server) ResetBilling() { s.billing.reset() }
