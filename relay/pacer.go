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
// lane flow, the lane's pages are read one at a time for the whole relay, and
// after each there is a pause twice as long as it took: the slower the machine
// or the cloud, the longer. What a listener tells is not held up.
type pacer struct {
	own    *lanes.Pool
	urgent []*lanes.Pool
	now    func() time.Time
	turn   chan struct{}

	mu        sync.Mutex
	delivered int64     // by the urgent lanes, when last looked
	active    time.Time // when that number last grew
}

const (
	// pauseShare is the pause after a page as a multiple of the page's time.
	pauseShare = 2
	// calm is how long nothing urgent must have flowed before the pace is free.
	calm = 500 * time.Millisecond
	// backlog is the number of aggregates in an urgent lane beyond which that
	// lane is itself behind, and nobody's latency is left to protect.
	backlog = 64
	// settleCheck is how often the end of the deliveries under way is looked for.
	settleCheck = 2 * time.Millisecond
	// patience bounds a page's time, should its target hang.
	patience = time.Second
)

func newPacer(own *lanes.Pool, urgent []*lanes.Pool, now func() time.Time) *pacer {
	return &pacer{own: own, urgent: urgent, now: now, turn: make(chan struct{}, 1)}
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
	for p.own.Active() > 0 && p.now().Sub(began) < patience {
		if !sleep(ctx, settleCheck) {
			return ctx.Err()
		}
	}
	sleep(ctx, pauseShare*p.now().Sub(began))
	return ctx.Err()
}

// givesWay reports whether records of an urgent lane flow, or did a moment ago.
// A lane that works off a backlog of its own is not held up by this one's.
func (p *pacer) givesWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var delivered int64
	active := 0
	for _, u := range p.urgent {
		n := u.Active()
		if n > backlog {
			return false
		}
		active += n
		delivered += u.Delivered()
	}
	if active > 0 || delivered != p.delivered {
		p.delivered, p.active = delivered, p.now()
	}
	return p.now().Sub(p.active) < calm
}
