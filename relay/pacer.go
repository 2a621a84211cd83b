package relay

import (
	"context"
	"sync"
	"time"

	"outboxrelay/lanes"
)

// pacer makes a lane's backlog give way to more urgent lanes. They have workers
// and connections of their own, but processor and Firestore are shared, and a
// drain at full speed takes all it can get of both. While records of an urgent
// lane come in as they are appended, the lane's pages are read one at a time
// for the whole relay, and after each there is a pause twice as long as it
// took: the slower the machine or the cloud, the longer. What a listener tells
// is not held up. An urgent lane that works off a backlog itself has no latency
// to protect: then both drain together.
type pacer struct {
	own  *lanes.Pool
	now  func() time.Time
	turn chan struct{}

	mu   sync.Mutex
	flow time.Time // when an urgent lane's listener last told of new records
}

const (
	// pauseShare is the pause after a page as a multiple of the page's time.
	pauseShare = 2
	// calm is how long nothing urgent must have come in before the pace is free.
	calm = 500 * time.Millisecond
	// settleCheck is how often the end of the deliveries under way is looked for.
	settleCheck = 2 * time.Millisecond
	// pacePatience bounds a page's time, should its target hang.
	pacePatience = time.Second
)

func newPacer(own *lanes.Pool, now func() time.Time) *pacer {
	return &pacer{own: own, now: now, turn: make(chan struct{}, 1)}
}

// flows notes that a listener told of new records of an urgent lane.
func (p *pacer) flows() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow = p.now()
}

// page reads one page, by work, at the lane's pace: it returns once what the
// lane had was delivered, and the pause is over. A nil pacer has no pace.
func (p *pacer) page(ctx context.Context, work func() error) error {
	if p == nil || !p.givesWay() {
		return work()
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := p.now()
	if err := work(); err != nil {
		return err
	}
	for p.own.Active() > 0 && p.now().Sub(began) < pacePatience {
		if !sleep(ctx, settleCheck) {
			return ctx.Err()
		}
	}
	sleep(ctx, pauseShare*p.now().Sub(began))
	return ctx.Err()
}

func (p *pacer) givesWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now().Sub(p.flow) < calm
}
