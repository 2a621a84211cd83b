package firestore

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// micros is a server timestamp: microseconds since the epoch, the precision that
// Firestore stores.
type micros int64

func (m micros) proto() *timestamppb.Timestamp { return timestamppb.New(m.time()) }

func (m micros) time() time.Time { return time.UnixMicro(int64(m)) }

func microsOf(t *timestamppb.Timestamp) micros { return micros(t.AsTime().UnixMicro()) }

// clock issues timestamps that never run backwards, whatever the wall clock does.
type clock struct {
	now func() time.Time

	mu   sync.Mutex
	last micros
}

// commit is later than every timestamp issued so far.
func (c *clock) commit() micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, micros(c.now().UnixMicro()))
	return c.last
}

// read is not earlier than any timestamp issued so far, and earlier than every
// later commit. Its caller holds the server's lock, so that no commit comes
// between the time and what is read.
func (c *clock) read() micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, micros(c.now().UnixMicro()))
	return c.last
}

// advance moves the clock to at least m; used when data is loaded.
func (c *clock) advance(m micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, m)
}
