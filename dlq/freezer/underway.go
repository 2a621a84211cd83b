package freezer

import (
	"context"
	"sync"
	"time"

	"outboxrelay/dlq/sibling"
)

// releasesAtOnce is how many releases are under way at the same time. One that hangs
// takes one of these places; of those that failed before, half of them have one at most,
// so that what is released anew does not wait for them.
const releasesAtOnce = 8

// underWay is the releases that are under way, and those that failed and wait for
// another try, by aggregate: none holds up the others.
type underWay struct {
	cfg   Config
	again func() // has the releases looked through again

	mu       sync.Mutex
	tries    map[string]*tries
	running  int
	repeated int   // of those that are running: they failed before
	more     bool  // one had no place
	panicked error // one of them did

	ended sync.WaitGroup
}

// tries is those of one release.
type tries struct {
	running bool
	failed  bool // before
	seen    bool // since the last look through the releases began
	until   time.Time
	delay   sibling.Patience
}

func newUnderWay(cfg Config, again func()) *underWay {
	return &underWay{cfg: cfg, again: again, tries: make(map[string]*tries)}
}

// begin tries a release beside the others, unless it is under way, waits for its next
// try, or has no place yet. It reports false where every place is taken: then the
// caller offers it again, once it is rung for. One that failed before and has no place
// among its like waits for another look. failed is told why it failed.
func (u *underWay) begin(ctx context.Context, aggregateID string, release func(context.Context) error, failed func(error)) (placed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.tries[aggregateID]
	if t == nil {
		t = &tries{delay: sibling.NewPatience(u.cfg.RetryMin, u.cfg.RetryMax)}
		u.tries[aggregateID] = t
	}
	t.seen = true
	switch {
	case t.running || time.Now().Before(t.until):
		return true
	case u.running == releasesAtOnce:
		u.more = true
		return false
	case t.failed && u.repeated == releasesAtOnce/2:
		u.more = true
		return true
	}
	t.running = true
	u.running++
	if t.failed {
		u.repeated++
	}
	u.ended.Go(func() {
		err := sibling.Guarded(func() error { return release(ctx) })
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		u.end(aggregateID, t, err)
	})
	return true
}

// end notes that a try is over.
func (u *underWay) end(aggregateID string, t *tries, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	if t.failed {
		u.repeated--
	}
	t.running, t.failed = false, err != nil
	switch {
	case err == nil:
		delete(u.tries, aggregateID)
	case sibling.Panicked(err):
		u.panicked = err
		u.more = true
	default:
		wait := t.delay.Next()
		t.until = time.Now().Add(wait)
		time.AfterFunc(wait, u.again)
	}
	if u.more {
		u.more = false
		u.again()
	}
}

// fault returns the panic of a release, once.
func (u *underWay) fault() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.panicked
	u.panicked = nil
	return err
}

// forget forgets those that were not seen since it was called last: they are over, or
// somebody else's.
func (u *underWay) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, t := range u.tries {
		if !t.seen && !t.running {
			delete(u.tries, id)
		}
		t.seen = false
	}
}
