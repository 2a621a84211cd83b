package auth

import (
	"maps"
	"sync"
)

// Counts is what the server has been asked and has answered since it was opened.
type Counts struct {
	Calls  map[string]int64 `json:"calls"`  // by method
	Failed map[string]int64 `json:"failed"` // by method, injected faults included
	// Updates are the calls of MethodUpdate by what they set: a call counts once
	// for each field of its body.
	Updates map[string]int64 `json:"updates"`
}

type counters struct {
	mu      sync.Mutex
	calls   map[string]int64
	fails   map[string]int64
	updates map[string]int64
}

func newCounters() *counters {
	c := &counters{calls: map[string]int64{}, fails: map[string]int64{}, updates: map[string]int64{}}
	for _, m := range methods {
		c.calls[m], c.fails[m] = 0, 0
	}
	return c
}

// Counts returns a copy of the figures so far.
func (s *Server) Counts() Counts {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	return Counts{
		Calls:   maps.Clone(s.counts.calls),
		Failed:  maps.Clone(s.counts.fails),
		Updates: maps.Clone(s.counts.updates),
	}
}

func (c *counters) called(method string, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[method]++
	if method != MethodUpdate {
		return
	}
	for field := range fieldsOf(body) {
		c.updates[field]++
	}
}

func (c *counters) failed(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails[method]++
}
