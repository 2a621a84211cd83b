package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// intake is the shell around one feed: what waits for it, and its part of its
// lane's memory.
type intake struct {
	ledger *ledger
	lane   contracts.Lane
	feed   *feed.Feed
	memory *memory // of its lane, shared with other outboxes
	usage  usage   // of memory; guarded by it
	ended  bool    // its share was given back; guarded by memory
	begin  sync.Once
	open   chan struct{} // closed once its lane is read, see outbox.read

	room    chan struct{} // a token when there may be room again
	rewound chan struct{} // a token when it was sent back
	drains  chan struct{} // a token when there may be something to drain

	upToDate atomic.Pointer[time.Time] // see caughtUp; nil: it never was

	// submitting is held from the admission of a record until it is in its lane: none
	// that is read meanwhile goes before it.
	submitting sync.Mutex
}

// newIntake adds a feed to the ledger that may have capacity records running.
func newIntake(l *ledger, lane contracts.Lane, capacity int, m *memory) *intake {
	in := &intake{
		ledger: l, lane: lane, memory: m,
		open: make(chan struct{}), room: make(chan struct{}, 1), rewound: make(chan struct{}, 1), drains: make(chan struct{}, 1),
	}
	in.feed = l.machine.AddFeed(lane, capacity, in)
	in.feed.Owner = in
	return in
}

// Limit implements feed.Memory.
func (in *intake) Limit() int64 { return in.memory.limit }

// Room implements feed.Memory.
func (in *intake) Room() bool { return in.memory.room(in) }

// Use implements feed.Memory.
func (in *intake) Use(running, resting int64) { in.memory.use(in, running, resting) }

// ask reads the feed.
func ask[T any](in *intake, f func(*feed.Feed) T) T {
	in.ledger.mu.Lock()
	defer in.ledger.mu.Unlock()
	return f(in.feed)
}

// take takes the next of the records that were read into memory, and submits it.
func (in *intake) take(o *outbox, e feed.Event) feed.Taken {
	in.submitting.Lock()
	defer in.submitting.Unlock()
	var few [fewActions]feed.Action
	actions, taken := in.ledger.take(e, few[:0])
	o.submitTaken(actions)
	return taken
}

// waitRoom blocks until the feed may take one more record.
func (in *intake) waitRoom(ctx context.Context) error {
	for waited := false; ; waited = true {
		if ask(in, (*feed.Feed).Room) {
			if waited {
				signal(in.room) // for whoever waits too
			}
			return nil
		}
		select {
		case <-in.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// caughtUp tells that all was taken that its reader was told until then, by pages or its
// listener.
func (in *intake) caughtUp(until time.Time) { in.upToDate.Store(&until) }

// late returns how long its reader has not been up to date, as it works off what it was
// told or waits for room; false: it has never been yet.
func (in *intake) late(now time.Time) (time.Duration, bool) {
	until := in.upToDate.Load()
	if until == nil {
		return 0, false
	}
	return now.Sub(*until), true
}

// start returns where to read on, and the generation to which what is read there
// belongs.
func (in *intake) start() (Position, int) {
	in.ledger.mu.Lock()
	defer in.ledger.mu.Unlock()
	return in.feed.Start()
}

// reread sends the feed back so that it reads p again.
func (in *intake) reread(p Position) { in.ledger.step(feed.Reread{Feed: in.feed, From: p}) }

// pageLimit returns how many documents a page may hold, most at most.
func (in *intake) pageLimit(most int) int {
	return ask(in, func(f *feed.Feed) int { return f.PageLimit(most) })
}

// pageBounds returns how many documents, most at most, and how many bytes a page may
// hold that ends where it has so many.
func (in *intake) pageBounds(most int) (limit int, bytes int64) {
	in.ledger.mu.Lock()
	defer in.ledger.mu.Unlock()
	return in.feed.PageBounds(most)
}

// windowBounds returns how many documents, most at most, the window of a listener may
// hold, and how many bytes one of its snapshots; 0: any.
func (in *intake) windowBounds(most int) (limit int, bytes int64) {
	in.ledger.mu.Lock()
	defer in.ledger.mu.Unlock()
	return in.feed.WindowBounds(most)
}

// clog returns how many pending records stand at the head of the lane without
// being new: under way, or left behind gates.
func (in *intake) clog() int { return ask(in, (*feed.Feed).Clog) }

// leftBehind returns how many records stand behind gates.
func (in *intake) leftBehind() int { return ask(in, (*feed.Feed).LeftBehind) }
