package relay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// gauges tells Prometheus, whenever it asks, how the outboxes stand that this
// instance relays. Of those that another relays every gauge is 0, so that the
// sum or the maximum over all instances is the truth.
type gauges struct {
	relay *Relay
}

var (
	oldestDesc = outboxDesc("relay_oldest_waiting_seconds",
		"Time since the oldest record was appended that is not settled for good in Firestore: one that waits in memory, for room there, for its mark or its dead letter to be written, or behind a target that is down; 0: none waits.", "lane")
	overdueDesc = outboxDesc("relay_overdue_records",
		"Records not delivered yet that wait for longer than their lane's SLA, in memory or behind a target that is down.", "lane")
	leftBehindDesc = outboxDesc("relay_left_behind_records",
		"Records left in Firestore behind a target that is down or an aggregate that fails.", "lane")
	pendingDesc = outboxDesc("relay_pending_records",
		"Pending records in Firestore, at the last sweep.")
	retryingDesc = outboxDesc("relay_retrying_records",
		"Records in backoff in Firestore, at the last sweep.")
	unattendedDesc = outboxDesc("relay_unattended_records",
		"Records in backoff that were due at the last sweep and that no instance waited for: the sweep takes them.")
	proofDesc = outboxDesc("relay_listener_proof_overdue_seconds",
		"How long the proof that a listener is alive is due; 0 while none is asked.", "listener")
	memoryDesc = prometheus.NewDesc("relay_record_memory_bytes",
		"What the records of a lane take up in memory, about; its inFlightMiB in the catalog bounds those that do not wait for a retry.", []string{"lane"}, nil)
	targetWorkersDesc = prometheus.NewDesc("relay_target_workers",
		"Workers of a lane whose records wait for the target now: at most three quarters of them, where the lane has several targets.", []string{"lane", "target"}, nil)
	unsettledDesc = outboxDesc("relay_unsettled_records",
		"Records whose outcome Firestore has not taken: their commits are not answered, and are tried again apart from other outboxes.")
	targetWaitingDesc = prometheus.NewDesc("relay_target_waiting_records",
		"Records that wait for a target whose breaker is open.", []string{"target"}, nil)
)

func outboxDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"outbox"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{oldestDesc, overdueDesc, leftBehindDesc, pendingDesc, retryingDesc, unattendedDesc, proofDesc, memoryDesc, targetWaitingDesc, targetWorkersDesc, unsettledDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It walks all records in memory.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now := g.relay.now()
	for _, spec := range g.relay.catalog.Outboxes {
		s := g.standOf(spec, now)
		for lane, w := range s.lanes {
			tell(oldestDesc, w.age(now).Seconds(), spec.Name, string(lane))
			tell(overdueDesc, float64(w.overdue), spec.Name, string(lane))
			tell(leftBehindDesc, float64(w.left), spec.Name, string(lane))
		}
		tell(pendingDesc, float64(s.pending), spec.Name)
		tell(retryingDesc, float64(s.backoff.all), spec.Name)
		tell(unattendedDesc, float64(s.backoff.unattended), spec.Name)
		for listener, due := range s.proofs {
			tell(proofDesc, due.Seconds(), spec.Name, listener)
		}
	}
	for lane, m := range g.relay.memories {
		tell(memoryDesc, float64(m.inUse()), string(lane))
	}
	for lane, pool := range g.relay.pools {
		busy := pool.Busy()
		for _, target := range targetsOf(g.relay.catalog, lane) {
			tell(targetWorkersDesc, float64(busy[target]), string(lane), target)
		}
	}
	unsettled := make(map[string]int)
	for _, s := range g.relay.settlers {
		for _, u := range s.unsettled() {
			unsettled[u.Outbox] += u.Records
		}
	}
	for _, spec := range g.relay.catalog.Outboxes {
		tell(unsettledDesc, float64(unsettled[spec.Name]), spec.Name)
	}
	waiting := make(map[string]int)
	for _, w := range g.relay.waiting() {
		waiting[w.Target] += w.Records
	}
	for target := range g.relay.catalog.Targets {
		tell(targetWaitingDesc, float64(waiting[target]), target)
	}
}

// outboxStand is how one outbox stands, all its shards that are here together.
type outboxStand struct {
	lanes   map[contracts.Lane]*laneStand // that are read
	pending int64
	backoff inBackoff
	proofs  map[string]time.Duration // by listener: how long its proof is due
}

// laneStand is what waits in one lane of an outbox.
type laneStand struct {
	oldest        time.Time // when the oldest was appended; zero: none waits
	overdue, left int
}

func (g gauges) standOf(spec *contracts.Outbox, now time.Time) outboxStand {
	s := outboxStand{lanes: make(map[contracts.Lane]*laneStand), proofs: make(map[string]time.Duration)}
	for _, lane := range spec.Lanes() {
		s.lanes[lane] = new(laneStand)
	}
	for _, name := range listenerNames(spec.Shares()[0], spec) {
		s.proofs[name] = 0
	}
	for _, o := range g.relay.shares.list() {
		if o.spec == spec {
			o.addWaiting(s.lanes, now)
			o.health.addProofs(&s, now)
		}
	}
	return s
}

// addWaiting adds what waits of this share. A record that was delivered and whose
// mark is on its way is overdue no more, but old until that is written. Behind a gate the
// oldest is known alone: where that is overdue, all of them count. Of what waits in
// Firestore for room in memory only the oldest is, and it counts for its age.
func (o *outbox) addWaiting(lanes map[contracts.Lane]*laneStand, now time.Time) {
	o.ledger.mu.Lock()
	defer o.ledger.mu.Unlock()
	o.ledger.machine.Each(func(r *feed.Record) {
		if r.Over() {
			return
		}
		e, n := entryOf(r), 0
		if r.Waits() {
			n = 1
		}
		s := lanes[e.lane]
		if s == nil { // it stands where no feed reads
			s = new(laneStand)
			lanes[e.lane] = s
		}
		s.add(appended(r.Sight), n, now.Add(-o.catalog.Lanes[e.lane].SLA))
	})
	for _, in := range o.intakes {
		if lanes[in.lane] == nil {
			if !in.isRead() {
				continue
			}
			lanes[in.lane] = new(laneStand)
		}
		s, due := lanes[in.lane], now.Add(-o.catalog.Lanes[in.lane].SLA)
		s.add(in.feed.Unread(), 0, due)
		in.feed.Behind(func(b feed.Behind) {
			s.left += b.Records
			if b.Records > 0 && !b.Frozen {
				s.add(b.From.At, b.Records, due)
			}
		})
	}
}

// appended is when a record was, by the server: what it says itself may be anything.
func appended(s feed.Sight) time.Time {
	if s.CreatedAt.IsZero() || !s.CreateTime.IsZero() && s.CreatedAt.After(s.CreateTime) {
		return s.CreateTime
	}
	return s.CreatedAt
}

// add adds n records, the oldest of which was appended at a time. What was
// appended before due is overdue. One without a time does not count.
func (s *laneStand) add(appended time.Time, n int, due time.Time) {
	if appended.IsZero() {
		return
	}
	if s.oldest.IsZero() || appended.Before(s.oldest) {
		s.oldest = appended
	}
	if appended.Before(due) {
		s.overdue += n
	}
}

// age is that of the oldest; 0 when its clock is ahead of ours.
func (s *laneStand) age(now time.Time) time.Duration {
	if s.oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.oldest))
}

// addProofs adds the records in Firestore, and for each listener how long its proof
// is due.
func (h *outboxHealth) addProofs(s *outboxStand, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.pending += max(h.pending, 0)
	s.backoff.all += max(h.backoff.all, 0)
	s.backoff.unattended += h.backoff.unattended
	for _, name := range h.order {
		s.proofs[name] = max(s.proofs[name], h.listeners[name].dueLocked(now))
	}
}
