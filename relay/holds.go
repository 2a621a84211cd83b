package relay

import "sync"

// holds keep an outbox with this instance until what is under way is written. The
// zero value has none.
type holds struct {
	mu    sync.Mutex
	n     int
	ended bool
}

// hold takes one; false: there are none any more.
func (h *holds) hold() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.n++
	return true
}

func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n--
}

// end gives none from now on.
func (h *holds) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
}

// none reports whether all are released.
func (h *holds) none() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n == 0
}
