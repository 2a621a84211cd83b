package child

import (
	"io"
	"sync"
)

// tailBytes of a child's output are quoted when it fails: the last screenful.
const tailBytes = 4 << 10

// Tail keeps the end of what is written to it. Its zero value is ready. Safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	last []byte
}

// And writes to the tail and to next; nil: to the tail alone.
func (t *Tail) And(next io.Writer) io.Writer {
	if next == nil {
		return t
	}
	return io.MultiWriter(t, next)
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

// String is what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
