package relay

import (
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// Health is what /readyz tells. Ready is false only when this instance can do
// no work at all; a part that is sick is told apart and does not make it false.
type Health struct {
	Ready    bool                `json:"ready"`
	Stopping bool                `json:"stopping"`
	Reason   string              `json:"reason,omitempty"` // why it is not ready
	Frozen   int                 `json:"frozenAggregates"` // whose records are held, or not let go on yet
	Outboxes []OutboxHealth      `json:"outboxes"`
	Lanes    []LaneHealth        `json:"lanes"`
	Breakers []ier.BreakerStatus `json:"breakers"`
}

// OutboxHealth is one outbox's.
type OutboxHealth struct {
	Outbox     string           `json:"outbox"`
	Healthy    bool             `json:"healthy"` // every listener is proven alive
	InMemory   int              `json:"inMemory"`
	LeftBehind int              `json:"leftBehind"` // in Firestore, behind targets that are down or failing aggregates
	Pending    int64            `json:"pending"`    // in Firestore, at the last sweep; -1 before the first
	SweptAt    *time.Time       `json:"sweptAt,omitempty"`
	Listeners  []ListenerHealth `json:"listeners"`
}

// ListenerHealth is one listener's.
type ListenerHealth struct {
	Listener     string     `json:"listener"` // its lane, or "strays"
	State        string     `json:"state"`    // starting, alive, rebuilding, paging (closed while pages are read)
	ProvenAt     *time.Time `json:"provenAt,omitempty"`
	CanaryMillis int64      `json:"canaryMillis"`
	Rebuilds     int        `json:"rebuilds"`
	LastReason   string     `json:"lastReason,omitempty"`
}

// LaneHealth is one lane's.
type LaneHealth struct {
	Lane      contracts.Lane `json:"lane"`
	Paused    bool           `json:"paused"`
	PausedBy  string         `json:"-"` // /readyz, which everybody reads, names nobody
	PausedAt  *time.Time     `json:"pausedAt,omitempty"`
	Reason    string         `json:"-"`
	Queued    int            `json:"queued"`
	Running   int            `json:"running"`
	Waiting   int            `json:"waiting"`  // for a retry, their own or an older record's
	Settling  int            `json:"settling"` // settled records whose write has not begun
	Overdue   int            `json:"overdue"`  // past their SLA now
	Oldest    *time.Time     `json:"oldest,omitempty"`
	Delivered int64          `json:"delivered"`
	Breaches  int64          `json:"slaBreaches"`
}

func (r *Relay) laneHealth(lane contracts.Lane) LaneHealth {
	s := r.pools[lane].Stats()
	h := LaneHealth{
		Lane: lane, Paused: s.Paused, Queued: s.Queued, Running: s.Running, Waiting: s.Waiting,
		Settling: r.settlers[lane].queued(), Overdue: s.Overdue, Delivered: s.Delivered, Breaches: s.Breaches,
	}
	if !s.Oldest.IsZero() {
		h.Oldest = &s.Oldest
	}
	if control := r.controls.of(lane); h.Paused && control.Paused {
		h.PausedBy, h.PausedAt, h.Reason = control.By, &control.At, control.Reason
	}
	return h
}

// States of a listener.
const (
	stateStarting   = "starting"
	stateAlive      = "alive"
	stateRebuilding = "rebuilding"
	statePaging     = "paging"
)

const listenerStrays = "strays"

// outboxHealth is kept by the outbox's listeners and its sweep.
type outboxHealth struct {
	name    string
	metrics *Metrics

	mu        sync.Mutex
	listeners map[string]*listenerState
	order     []string
	pending   int64
	sweptAt   time.Time
}

func newOutboxHealth(spec *contracts.Outbox, m *Metrics) *outboxHealth {
	h := &outboxHealth{name: spec.Name, metrics: m, listeners: make(map[string]*listenerState), pending: -1}
	for _, l := range spec.Lanes() {
		h.add(string(l))
	}
	h.add(listenerStrays)
	return h
}

func (h *outboxHealth) add(name string) {
	h.order = append(h.order, name)
	h.listeners[name] = &listenerState{health: h, name: name, state: stateStarting}
}

// listener returns the state of the listener of that scan.
func (h *outboxHealth) listener(s Scan) *listenerState {
	if s.Kind == ScanLane {
		return h.listeners[string(s.Lane)]
	}
	return h.listeners[listenerStrays]
}

func (h *outboxHealth) swept(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweptAt = at
}

func (h *outboxHealth) counted(pending int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = max(pending, 0)
}

// listenerState outlives the listeners that a reader opens and closes.
type listenerState struct {
	health *outboxHealth
	name   string

	// Guarded by health.mu.
	state    string
	provenAt time.Time
	trip     time.Duration
	rebuilds int
	reason   string
}

func (s *listenerState) set(f func()) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	f()
}

func (s *listenerState) opened() { s.set(func() { s.state = stateAlive }) }

func (s *listenerState) closed() { s.set(func() { s.state = statePaging }) }

func (s *listenerState) ended(reason string) {
	s.health.metrics.rebuilds.WithLabelValues(s.health.name, s.name, reason).Inc()
	s.set(func() { s.state, s.reason = stateRebuilding, reason; s.rebuilds++ })
}

func (s *listenerState) proven(touched, seen time.Time) {
	s.health.metrics.canary.WithLabelValues(s.health.name, s.name).Observe(seen.Sub(touched).Seconds())
	s.set(func() { s.state, s.provenAt, s.trip = stateAlive, seen, seen.Sub(touched) })
}

func (s *listenerState) healthLocked() ListenerHealth {
	out := ListenerHealth{Listener: s.name, State: s.state, CanaryMillis: s.trip.Milliseconds(), Rebuilds: s.rebuilds, LastReason: s.reason}
	if !s.provenAt.IsZero() {
		at := s.provenAt
		out.ProvenAt = &at
	}
	return out
}

func (h *outboxHealth) snapshot() OutboxHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := OutboxHealth{Outbox: h.name, Healthy: true, Pending: h.pending}
	if !h.sweptAt.IsZero() {
		at := h.sweptAt
		out.SweptAt = &at
	}
	for _, name := range h.order {
		l := h.listeners[name].healthLocked()
		if l.State == stateStarting || l.State == stateRebuilding {
			out.Healthy = false
		}
		out.Listeners = append(out.Listeners, l)
	}
	return out
}

// Health tells how the relay does.
func (r *Relay) Health() Health {
	h := Health{Stopping: r.stopping.Load(), Breakers: r.router.Breakers(), Frozen: r.freezes.size()}
	for _, o := range r.outboxes {
		oh := o.health.snapshot()
		oh.InMemory = o.ledger.size()
		for _, f := range o.feeds {
			oh.LeftBehind += f.leftBehind()
		}
		for _, l := range oh.Listeners {
			h.Ready = h.Ready || l.State == stateAlive || l.State == statePaging
		}
		h.Outboxes = append(h.Outboxes, oh)
	}
	if !h.Ready {
		h.Reason = "no listener is alive: Firestore cannot be reached, or the relay has just started"
	}
	if h.Stopping {
		h.Ready, h.Reason = false, "the relay is stopping"
	}
	for _, l := range contracts.Lanes() {
		h.Lanes = append(h.Lanes, r.laneHealth(l))
	}
	return h
}
