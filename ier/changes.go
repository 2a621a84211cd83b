package ier

import "sync"

// changes carries breakers' changes to subscribers: in order, and with no lock
// held while a subscriber runs, so that it may call the router.
type changes struct {
	mu          sync.Mutex
	subscribers []func(target string, open bool)
	queue       []change
	flushing    bool
}

type change struct {
	target string
	open   bool
}

func (c *changes) subscribe(f func(target string, open bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, f)
}

// add takes note of a change. It may be called under a lock.
func (c *changes) add(target string, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, change{target, open})
}

// flush tells the subscribers of every change noted so far. While another
// goroutine flushes, or a subscriber calls back, it leaves the work to the
// flush that is under way.
func (c *changes) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushing {
		return
	}
	c.flushing = true
	defer func() { c.flushing = false }() // also if a subscriber panics
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.tell(next)
	}
}

// tell tells the subscribers of a change. It is called under mu, which it leaves meanwhile.
func (c *changes) tell(next change) {
	subscribers := c.subscribers
	c.mu.Unlock()
	defer c.mu.Lock()
	for _, f := range subscribers {
		f(next.target, next.open)
	}
}
