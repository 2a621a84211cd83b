package replayer

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq/sibling"
)

const (
	// gap is the least time between two looks: many bells are one.
	gap = 50 * time.Millisecond
	// pace is the least time between two rounds through the backlog.
	pace = 10 * time.Millisecond
)

// duty is what the replayer's loop knows. It is used by that goroutine alone.
type duty struct {
	*Replayer
	group   *errgroup.Group // of the workers
	backlog *backlog
	parked  *parking
	delay   sibling.Patience       // between failed looks
	room    map[contracts.Lane]int // slots taken
	spare   int                    // replays of the rate that came to none
	ended   chan worked
	look    *looking

	lookAt, startAt time.Time // when to do so next
	looked, started time.Time // the last time
}

// worked is an item that its worker is through with.
type worked struct {
	line    *line
	waiting *waiting
	lane    contracts.Lane
	asked   bool
	outcome outcome
}

// loop reads what is due when there is reason to, and starts what can be replayed
// of what is known.
func (d *duty) loop(ctx context.Context) {
	for ctx.Err() == nil {
		if !time.Now().Before(d.lookAt) {
			d.looked = time.Now()
			d.lookAt = d.looked.Add(d.lookAround(ctx))
		}
		d.started = time.Now()
		d.startAt = d.started.Add(d.start(ctx))
		if _, _, short := d.backlog.short(); short {
			d.lookBy(gap)
		}
		d.await(ctx)
	}
}

// lookBy has the next look at most so long after the last.
func (d *duty) lookBy(after time.Duration) {
	if t := d.looked.Add(after); t.Before(d.lookAt) {
		d.lookAt = t
	}
}

// startBy has the next round through the backlog at most so long after the last.
func (d *duty) startBy(after time.Duration) {
	if t := d.started.Add(after); t.Before(d.startAt) {
		d.startAt = t
	}
}

// await waits for the next look, or the next start.
func (d *duty) await(ctx context.Context) {
	then := earlier(d.lookAt, d.startAt)
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-d.bell:
			now := d.queue.Now()
			d.parked.rung(now)
			d.backlog.rung(d.parked, now)
			d.lookBy(gap)
			d.startBy(gap)
		case <-d.wake: // often several listeners tell of the same
			d.lookAt = earlier(d.lookAt, time.Now().Add(gap))
		case w := <-d.ended:
			d.note(w)
			d.startBy(pace)
		}
		if t := earlier(d.lookAt, d.startAt); t.Before(then) {
			then = t
			timer.Reset(time.Until(then))
		}
	}
}
