package inbox

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
)

// Memory is a Store for tests, and for one process whose duplicates after a restart do no
// harm. What is past its time is removed as other events come.
type Memory struct {
	mu     sync.Mutex
	events map[memoryKey]*memoryEvent
	open   map[memoryKey][]*memoryEvent // by consumer and aggregate: neither processed nor dead
	expiry memoryExpiries               // one for each event
}

type memoryKey struct{ consumer, id string }

type memoryEvent struct {
	key, aggregate memoryKey
	version        int64
	end            End // "": open
	token          string
	leaseUntil     time.Time // zero: nobody handles it
	nextAt         time.Time
	failures       int
	takeovers      int
	errors         []contracts.AttemptError
	expiresAt      time.Time
}

type memoryExpiry struct {
	key memoryKey
	at  time.Time
}

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{events: map[memoryKey]*memoryEvent{}, open: map[memoryKey][]*memoryEvent{}}
}

// Claim implements Store.
func (m *Memory) Claim(_ context.Context, ask Ask) (Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.forget(now)
	e := m.live(memoryKey{ask.Consumer, ask.EventID}, now)
	if e == nil {
		e = &memoryEvent{key: memoryKey{ask.Consumer, ask.EventID}, aggregate: memoryKey{ask.Consumer, ask.AggregateID}, version: ask.Version}
	}
	reopens := e.end == EndDead && ask.Replay
	var claim Claim
	if !reopens {
		claim = Claim{Failures: e.failures, Takeovers: e.takeovers, Errors: slices.Clone(e.errors)}
	}
	again := e.token == ask.Token && now.Before(e.leaseUntil)
	switch {
	case e.end == EndProcessed:
		claim.Verdict = Processed
	case e.end == EndDead && !reopens:
		claim.Verdict = Dead
	case again:
		claim.Verdict = Claimed
		e.leaseUntil, e.expiresAt = now.Add(ask.Lease), now.Add(ask.Keep)
	case now.Before(e.leaseUntil):
		claim.Verdict, claim.Wait = Busy, e.leaseUntil.Sub(now)
	case now.Before(e.nextAt):
		claim.Verdict, claim.Wait = Early, e.nextAt.Sub(now)
	default:
		if older := m.older(e); older != nil {
			claim.Verdict, claim.Failing = Behind, older.leaseUntil.IsZero()
			claim.Wait = max(0, older.nextAt.Sub(now), older.leaseUntil.Sub(now))
			return claim, nil
		}
		if reopens {
			e.end, e.failures, e.takeovers, e.errors = "", 0, 0, nil
			m.enter(e)
		}
		if !e.leaseUntil.IsZero() {
			e.takeovers++
			claim.Takeovers = e.takeovers
		}
		claim.Verdict = Claimed
		e.token, e.leaseUntil = ask.Token, now.Add(ask.Lease)
		e.expiresAt = now.Add(ask.Keep)
		if m.events[e.key] == nil {
			m.enter(e)
		}
	}
	return claim, nil
}

// older is an open event of e's aggregate with a lower version.
func (m *Memory) older(e *memoryEvent) *memoryEvent {
	for _, o := range m.open[e.aggregate] {
		if o.version < e.version {
			return o
		}
	}
	return nil
}

func (m *Memory) enter(e *memoryEvent) {
	m.add(e)
	m.open[e.aggregate] = append(m.open[e.aggregate], e)
}

func (m *Memory) add(e *memoryEvent) {
	if m.events[e.key] == nil {
		m.events[e.key] = e
		heap.Push(&m.expiry, memoryExpiry{e.key, e.expiresAt})
	}
}

func (m *Memory) close(e *memoryEvent) {
	left := slices.DeleteFunc(m.open[e.aggregate], func(o *memoryEvent) bool { return o == e })
	if m.open[e.aggregate] = left; len(left) == 0 {
		delete(m.open, e.aggregate)
	}
}

// live returns the event of that key, unless its time is over.
func (m *Memory) live(key memoryKey, now time.Time) *memoryEvent {
	e := m.events[key]
	if e != nil && !e.expiresAt.After(now) {
		m.close(e)
		delete(m.events, key)
		return nil
	}
	return e
}

// forget removes what is past its time. An event's entry in the heap is as old as the event,
// and is renewed when it comes up.
func (m *Memory) forget(now time.Time) {
	for len(m.expiry) > 0 && !m.expiry[0].at.After(now) {
		e := m.live(m.expiry[0].key, now)
		if e == nil {
			heap.Pop(&m.expiry)
			continue
		}
		m.expiry[0].at = e.expiresAt
		heap.Fix(&m.expiry, 0)
	}
}

// GiveBack implements Store.
func (m *Memory) GiveBack(_ context.Context, ref Ref, failure contracts.AttemptError, wait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events[memoryKey{ref.Consumer, ref.EventID}]
	if e == nil || e.token != ref.Token || e.end != "" {
		return fmt.Errorf("give back event %s: %w", ref.EventID, ErrLost)
	}
	if e.leaseUntil.IsZero() {
		return nil // the same again
	}
	now := time.Now()
	e.leaseUntil, e.nextAt, e.takeovers = time.Time{}, now.Add(wait), 0
	if failure.Code != "" {
		e.failures++
		e.errors = append(e.errors, failure)
		e.errors = e.errors[max(0, len(e.errors)-MaxErrors):]
	}
	return nil
}

// Settle implements Store.
func (m *Memory) Settle(_ context.Context, ref Ref, end End, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events[memoryKey{ref.Consumer, ref.EventID}]
	switch {
	case e == nil || e.token != ref.Token:
		return fmt.Errorf("settle event %s: %w", ref.EventID, ErrLost)
	case e.end != "":
		return nil // the same again
	case e.leaseUntil.IsZero():
		return fmt.Errorf("settle event %s, which was given back: %w", ref.EventID, ErrLost)
	}
	m.close(e)
	e.end, e.leaseUntil, e.expiresAt = end, time.Time{}, time.Now().Add(ttl)
	return nil
}

// CheckAndMarkProcessed implements Store.
func (m *Memory) CheckAndMarkProcessed(_ context.Context, consumer, eventID string, ttl time.Duration) (alreadyProcessed bool, err error) {
	if err := CheckMark(consumer, eventID, ttl); err != nil {
		return false, fmt.Errorf("mark event %s: %w", eventID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.forget(now)
	key := memoryKey{consumer, eventID}
	e := m.live(key, now)
	switch {
	case e == nil:
		e = &memoryEvent{key: key, expiresAt: now.Add(ttl)}
		m.add(e)
	case e.end == EndProcessed:
		return true, nil
	default:
		m.close(e)
	}
	e.end, e.token, e.leaseUntil, e.expiresAt = EndProcessed, "", time.Time{}, now.Add(ttl)
	return false, nil
}

// memoryExpiries is a heap, the earliest first.
type memoryExpiries []memoryExpiry

func (h memoryExpiries) Len() int           { return len(h) }
func (h memoryExpiries) Less(a, b int) bool { return h[a].at.Before(h[b].at) }
func (h memoryExpiries) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *memoryExpiries) Push(x any)        { *h = append(*h, x.(memoryExpiry)) }
func (h *memoryExpiries) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
