package relay

import (
	"context"
	"sync"
	"time"

	"outboxrelay/contracts"
)

// backlog tells whether an outbox works off records that wait. Meanwhile its
// listeners stay closed, but for CRITICAL_LANE's, and pages are polled in their
// place: a commit may wait for every listener of the collections that it changes
// (on Google's emulator each of them reads its window again, and a commit took 4 s
// where it takes 160 ms without them), and what they tell of a backlog is billed.
// A lane that gets something new listens all the same.
type backlog struct {
	now func() time.Time

	mu    sync.Mutex
	lanes int           // readers that catch up, or whose backlog is not settled yet
	over  chan struct{} // closed while there are none
	clog  int           // when it was last asked for
	moved time.Time     // when that last changed
}

// stands is how long a backlog may stand still before the outbox listens again: it
// waits for a target then, or for room that nobody makes.
const stands = 5 * time.Second

func newBacklog(now func() time.Time) *backlog {
	b := &backlog{now: now, over: make(chan struct{})}
	close(b.over)
	return b
}

// begins counts a reader that reads a backlog or settles it. Each begins is
// followed by ends.
func (b *backlog) begins() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes++; b.lanes == 1 {
		b.over, b.moved = make(chan struct{}), b.now()
	}
}

func (b *backlog) ends() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lanes--; b.lanes == 0 {
		close(b.over)
	}
}

// shrinks reports whether there is one that does not stand still, when clog records
// are under way or left behind. over is closed once there is none.
func (b *backlog) shrinks(clog int) (yes bool, over <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if clog != b.clog {
		b.clog, b.moved = clog, now
	}
	return b.lanes > 0 && now.Sub(b.moved) < stands, b.over
}

// worksOff reports whether the outbox works off a backlog. over is closed once it
// has none.
func (o *outbox) worksOff() (yes bool, over <-chan struct{}) {
	clog := 0
	for _, in := range o.intakes {
		clog += in.clog()
	}
	return o.backlog.shrinks(clog)
}

// pollEvery is how long a lane waits for its next page in place of a listener. What
// comes new waits as long at most; most pages are empty, and each is paid for. A
// Firestore that is busy, so that a page takes long, is asked less often: a lane's pages
// take a ninth of its time at most.
const (
	pollEvery = time.Second
	pollShare = 8
	pollMost  = 5 * time.Second
)

// pollAgain is how long a lane waits for its next page when the last took so long.
func pollAgain(took time.Duration) time.Duration {
	return min(max(pollEvery, pollShare*took), pollMost)
}

// poll takes what pages show, in place of a listener, for as long as the outbox works
// off a backlog. It reports whether the lane is to listen: it has to catch up
// otherwise.
func (r *reader) poll(ctx context.Context) (listen bool, err error) {
	if r.intake.lane == contracts.CriticalLane {
		return true, nil
	}
	_, generation := r.intake.start()
	state := r.outbox.health.listener(r.scan)
	for {
		limit, _ := r.intake.windowBounds(r.window)
		r.settled(limit)
		works, over := r.outbox.worksOff()
		if !works {
			return true, nil
		}
		state.closed()
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-over:
			return true, nil
		case <-r.intake.rewound:
			if _, now := r.intake.start(); now != generation {
				return false, nil
			}
			continue
		case <-time.After(pollAgain(r.took)):
		}
		taken, on, err := r.bridge(ctx, generation)
		if ctx.Err() == nil {
			state.paged(r.outbox.now(), err)
		}
		switch {
		case err != nil:
			return false, err
		case !on:
			return false, ctx.Err()
		case taken > 0:
			return true, nil
		}
	}
}

// settled tells the others that the lane's backlog is settled, if so: a fifth of a
// window would hold what is left of it.
func (r *reader) settled(window int) {
	if r.intake.clog() <= window/headShare {
		r.fallBehind(false)
	}
}
