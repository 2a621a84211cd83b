package lanes

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Wake ends the wait of every task that waits with this label, those whose run
// is about to return such a verdict included. The aggregates it sets free run
// in the order in which their heads were appended. An empty label wakes nobody.
// It walks all tasks of the lane: it is meant for a target that came back, not
// for each record.
func (p *Pool) Wake(on string) {
	if on == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var free []*aggregate
	for _, a := range p.aggregates {
		a.wake(on)
		if a.place == isWaiting && !a.queue.head().waits(now) {
			free = append(free, a)
		}
	}
	slices.SortFunc(free, func(a, b *aggregate) int {
		return cmp.Or(a.queue.head().Appended.Compare(b.queue.head().Appended), cmp.Compare(a.key, b.key))
	})
	for _, a := range free {
		p.endWait(a, now)
	}
}

// beginWait parks a until its head's wait ends.
func (p *Pool) beginWait(a *aggregate, now time.Time) {
	p.turns++
	a.place, a.blockedSince = isWaiting, now
	a.waitEnd, a.waitTurn = a.queue.head().stay.notBefore, p.turns
	heap.Push(&p.waiting, a)
	p.setTimer()
}

// endWait makes a waiting aggregate ready.
func (p *Pool) endWait(a *aggregate, now time.Time) {
	p.stopWait(a, now)
	p.makeReady(a)
}

// stopWait takes a out of waiting.
func (p *Pool) stopWait(a *aggregate, now time.Time) {
	a.blocked = a.blockedFor(now)
	heap.Remove(&p.waiting, a.waitIdx)
}

// expire makes every aggregate ready whose wait is over.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timerAt = time.Time{}
	now := time.Now()
	for len(p.waiting) > 0 && !p.waiting[0].waitEnd.After(now) {
		p.endWait(p.waiting[0], now)
	}
	p.setTimer()
}

// setTimer sets the one timer to the end of the first wait. A timer that stands
// at an earlier time is left there: one needless expire costs less than to set
// it anew whenever a wait ends early.
func (p *Pool) setTimer() {
	if p.closed || len(p.waiting) == 0 {
		return
	}
	at := p.waiting[0].waitEnd
	if !p.timerAt.IsZero() && !at.Before(p.timerAt) {
		return
	}
	p.timerAt = at
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(at), p.expire)
	} else {
		p.timer.Reset(time.Until(at))
	}
}

// waitHeap holds the waiting aggregates, the first to end on top.
type waitHeap []*aggregate

func (h waitHeap) Len() int { return len(h) }

func (h waitHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(a.waitEnd.Compare(b.waitEnd), cmp.Compare(a.waitTurn, b.waitTurn)) < 0
}

func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].waitIdx, h[j].waitIdx = i, j
}

func (h *waitHeap) Push(x any) {
	a := x.(*aggregate)
	a.waitIdx = len(*h)
	*h = append(*h, a)
}

func (h *waitHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}
