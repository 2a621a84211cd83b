package relay

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/relay/feed"
)

// Health is what /readyz tells. Ready is false only when this instance can do
// no work at all; a part that is sick is told apart and does not make it false.
type Health struct {
	Ready    bool           `json:"ready"`
	Stopping bool           `json:"stopping"`
	Reason   string         `json:"reason,omitempty"` // why it is not ready
	Frozen   int            `json:"frozenAggregates"` // whose records are held, or not let go on yet
	Outboxes []OutboxHealth `json:"outboxes"`
	// QueueOwner is the instance that does for the dead-letter queue what only
	// one may; "" without leases.
	QueueOwner string              `json:"queueOwner,omitempty"`
	Lanes      []LaneHealth        `json:"lanes"`
	Breakers   []ier.BreakerStatus `json:"breakers"`
	// Waiting tells what waits for targets that are down, of the outboxes that
	// this instance relays.
	Waiting []TargetWaiting `json:"waiting,omitempty"`
}

// TargetWaiting is how many records of one outbox wait for a target.
type TargetWaiting struct {
	Target  string `json:"target"`
	Outbox  string `json:"outbox"`
	Records int    `json:"records"`
}

// OutboxHealth is that of one outbox, or of one shard of it. Of what another
// instance relays it tells what that said with its last renewal, and nothing of
// its listeners.
type OutboxHealth struct {
	Outbox     string           `json:"outbox"`
	Shard      int              `json:"shard"`
	Shards     int              `json:"shards"`
	Owner      string           `json:"owner,omitempty"` // the instance that relays it; "" without leases, and while it is free
	Since      *time.Time       `json:"since,omitempty"` // the owner's
	Lease      LeaseState       `json:"lease,omitempty"` // "" without leases
	Here       bool             `json:"here"`            // this instance relays it
	Healthy    bool             `json:"healthy"`         // its lease is renewed, and every listener is proven alive
	InMemory   int              `json:"inMemory"`
	LeftBehind int              `json:"leftBehind"` // in Firestore, behind targets that are down or failing aggregates
	Pending    int64            `json:"pending"`    // in Firestore, at the last sweep; -1 before the first
	Retrying   int64            `json:"retrying"`   // in backoff in Firestore, at the last sweep; -1 before the first
	Unattended int64            `json:"unattended"` // of those, due and in nobody's memory; the sweep takes them
	SweptAt    *time.Time       `json:"sweptAt,omitempty"`
	Listeners  []ListenerHealth `json:"listeners"`
}

// ListenerHealth is one listener's.
type ListenerHealth struct {
	Listener     string     `json:"listener"` // its lane, or "strays"
	State        string     `json:"state"`    // starting, alive, rebuilding, unproven, paging (closed while pages are read)
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
	Waiting   int            `json:"waiting"`             // for a retry, their own or an older record's
	Settling  int            `json:"settling"`            // whose settlement is not written yet, also while its commit is tried again
	Unsettled []Unsettled    `json:"unsettled,omitempty"` // of those, by outbox: whose commits Firestore does not answer
	Overdue   int            `json:"overdue"`             // past their SLA now
	Oldest    *time.Time     `json:"oldest,omitempty"`
	Received  int64          `json:"received"` // one that is taken into memory again counts again
	Delivered int64          `json:"delivered"`
	Breaches  int64          `json:"slaBreaches"`
}

// Unsettled is how many records of an outbox wait since Firestore does not answer the
// commits that settle them.
type Unsettled struct {
	Outbox  string    `json:"outbox"`
	Records int       `json:"records"`
	Since   time.Time `json:"since"` // of the longest trouble that lasts
}

func (r *Relay) laneHealth(lane contracts.Lane) LaneHealth {
	s := r.pools[lane].Stats()
	h := LaneHealth{
		Lane: lane, Paused: s.Paused, Queued: s.Queued, Running: s.Running, Waiting: s.Waiting,
		Settling: int(r.settlers[lane].unwritten.Load()), Unsettled: r.settlers[lane].unsettled(), Overdue: s.Overdue, Received: r.received[lane].Load(), Delivered: s.Delivered, Breaches: s.Breaches,
	}
	if !s.Oldest.IsZero() {
		h.Oldest = &s.Oldest
	}
	if control := r.controls.of(lane); h.Paused && control.Paused {
		h.PausedBy, h.PausedAt, h.Reason = control.By, &control.At, control.Reason
	}
	return h
}

// received counts the records that were taken into memory, by lane.
type received map[contracts.Lane]*atomic.Int64

func newReceived() received {
	out := make(received)
	for _, lane := range contracts.Lanes() {
		out[lane] = new(atomic.Int64)
	}
	return out
}

// add counts one. A record whose lane is none is not counted.
func (r received) add(lane contracts.Lane) {
	if n := r[lane]; n != nil {
		n.Add(1)
	}
}

// waiting tells what waits behind the gates of targets, those that probe for
// them included, by target and outbox.
func (r *Relay) waiting() []TargetWaiting {
	var all []TargetWaiting
	for _, o := range r.shares.list() {
		for target, records := range o.waiting() {
			at := slices.IndexFunc(all, func(w TargetWaiting) bool { return w.Target == target && w.Outbox == o.spec.Name })
			if at < 0 {
				at = len(all)
				all = append(all, TargetWaiting{Target: target, Outbox: o.spec.Name})
			}
			all[at].Records += records
		}
	}
	slices.SortFunc(all, func(a, b TargetWaiting) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Outbox, b.Outbox))
	})
	return all
}

func (o *outbox) waiting() map[string]int {
	out := make(map[string]int)
	o.ledger.mu.Lock()
	defer o.ledger.mu.Unlock()
	for _, in := range o.intakes {
		in.feed.Behind(func(b feed.Behind) {
			if b.Target != "" {
				out[b.Target] += b.Records + b.Probes
			}
		})
	}
	return out
}

// inBackoff counts records in backoff, as a sweep finds them.
type inBackoff struct {
	all        int64 // -1: not known yet
	unattended int64 // due, and nobody waits for them
}

// outboxHealth is kept by the outbox's listeners and its sweep.
type outboxHealth struct {
	name    string
	metrics *Metrics

	mu        sync.Mutex
	listeners map[string]*listenerState // those of all lanes
	order     []string                  // of those that listen
	pending   int64
	count     pendingCount
	stood     time.Time // when a canary came to stand last
	backoff   inBackoff
	sweptAt   time.Time
}

func newOutboxHealth(share contracts.Share, spec *contracts.Outbox, m *Metrics, now time.Time) *outboxHealth {
	h := &outboxHealth{name: spec.Name, metrics: m, listeners: make(map[string]*listenerState), pending: -1, backoff: inBackoff{all: -1}}
	for _, name := range listenerNames(share, spec) {
		h.order = append(h.order, name)
		h.listeners[name] = &listenerState{health: h, name: name, state: stateStarting, since: now, wanted: make(chan struct{}, 1)}
	}
	for _, lane := range contracts.Lanes() {
		if name := string(lane); h.listeners[name] == nil {
			h.listeners[name] = &listenerState{health: h, name: name, state: stateStarting, wanted: make(chan struct{}, 1)}
		}
	}
	return h
}

// reads tells that a lane is read, too.
func (h *outboxHealth) reads(lane contracts.Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order = append(h.order, string(lane))
}

// listener returns the state of the listener of that scan.
func (h *outboxHealth) listener(s Scan) *listenerState { return h.listeners[listenerName(s)] }

func (h *outboxHealth) swept(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweptAt = at
}

func (h *outboxHealth) backsOff(b inBackoff) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.backoff = b
}

// works reports whether anything of it can be delivered here: while its lease has lapsed
// nothing begins, whatever its listeners say.
func (h OutboxHealth) works() bool {
	return h.Here && (h.Lease == "" || h.Lease == LeaseHeld) && slices.ContainsFunc(h.Listeners, ListenerHealth.works)
}

func (h *outboxHealth) snapshot(now time.Time) OutboxHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := OutboxHealth{Here: true, Healthy: true, Pending: h.pending, Retrying: h.backoff.all, Unattended: h.backoff.unattended}
	if !h.sweptAt.IsZero() {
		at := h.sweptAt
		out.SweptAt = &at
	}
	for _, name := range h.order {
		l := h.listeners[name].healthLocked(now)
		out.Healthy = out.Healthy && l.works()
		out.Listeners = append(out.Listeners, l)
	}
	return out
}

func (o *outbox) healthNow() OutboxHealth {
	h := o.health.snapshot(o.now())
	h.InMemory = o.ledger.size()
	for _, in := range o.intakes {
		h.LeftBehind += in.leftBehind()
	}
	return h
}

// Health tells how the relay does.
func (r *Relay) Health() Health {
	h := Health{Stopping: r.stopping.Load(), Breakers: r.router.Breakers(), Waiting: r.waiting(), Frozen: r.freezes.size()}
	h.Outboxes, h.QueueOwner = r.outboxHealth()
	h.Ready = r.owners.Ready() || slices.ContainsFunc(h.Outboxes, OutboxHealth.works)
	if !h.Ready {
		h.Reason = r.notReady(h.Outboxes)
	}
	if h.Stopping {
		h.Ready, h.Reason = false, "the relay is stopping"
	}
	for _, l := range contracts.Lanes() {
		h.Lanes = append(h.Lanes, r.laneHealth(l))
	}
	return h
}
