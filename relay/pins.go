package relay

import "sync"

// pins keep an outbox with this instance until what is under way is written. The zero
// value has none.
type pins struct {
	mu    sync.Mutex
	n     int
	ended bool
}

// pin takes one; false: there are none any more.
func (p *pins) pin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.n++
	return true
}

func (p *pins) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n--
}

// end gives none from now on.
func (p *pins) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// left returns how many are not released.
func (p *pins) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}
