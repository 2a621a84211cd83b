package relay

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// burials is what the dead letters of all outboxes share.
type burials struct {
	queue  *dlq.Queue // whose bells are rung; nil: nobody listens
	groups groups
}

// freezing reports whether the dead letter freezes its aggregate.
func (o *outbox) freezing(i *dlq.Item) bool {
	return o.freezes.queue != nil && i.Tier == contracts.SecurityBlock && i.AggregateID != ""
}

// buried has the freeze known of a dead letter that was written at the server's time at.
func (o *outbox) buried(st *settlement, at time.Time) {
	i := &st.dead.item
	switch {
	case !o.freezing(i):
	case st.slim >= slimUnfrozen:
		o.log.Error("dead letter written, but Firestore refuses to freeze its aggregate", zap.String("deadLetter", i.ID),
			zap.String("aggregateId", i.AggregateID), zap.String("traceId", i.TraceID))
		o.freezes.notBuried(i.AggregateID)
	default:
		o.freezes.buried(&dlq.Freeze{
			AggregateID: i.AggregateID, State: dlq.Frozen, FrozenAt: i.DeadAt, Reason: i.Reason, Outbox: i.Outbox,
			EventType: i.EventType, EventID: i.EventID, TraceID: i.TraceID, DeadLetters: st.dead.relisted, UpdateTime: at,
		}, i.ID)
	}
}

// died tells everybody of a dead letter that this relay wrote: once it stands in the
// queue, so that none is told of twice, or in vain.
func (o *outbox) died(st *settlement) {
	e, i := st.entry, &st.dead.item
	o.metrics.deadLetters.WithLabelValues(o.spec.Name, string(i.OriginalTier), string(i.Reason)).Inc()
	o.log.Warn("record dead-lettered", zap.String("record", e.rec.ID), zap.String("deadLetter", i.ID), zap.String("traceId", e.rec.TraceID),
		zap.String("tier", string(i.OriginalTier)), zap.String("reason", string(i.Reason)), zap.String("lastError", e.rec.LastError), e.trail.field())
	o.burials.groups.add(dlq.GroupOf(i).ID)
	o.burials.ring(i.Tier)
}

// notBuried follows up on a dead letter that this relay did not write after
// all, or of which it cannot tell when.
func (o *outbox) notBuried(st *settlement) {
	if o.freezing(&st.dead.item) {
		o.freezes.notBuried(st.dead.item.AggregateID)
	}
}

// ring tells the siblings of a new dead letter.
func (b *burials) ring(t contracts.Tier) {
	if b.queue == nil {
		return
	}
	switch t {
	case contracts.SafeAuto:
		b.queue.Ring(dlq.BellReplays)
	case contracts.SecurityBlock:
		b.queue.Ring(dlq.BellAlerts)
		b.queue.Ring(dlq.BellFreezes)
	}
}

// groups remembers which groups of dead letters have been written.
type groups struct {
	mu      sync.Mutex
	written map[string]struct{}
}

// groupMemory bounds groups. Beyond it all are forgotten, which costs one write
// for each.
const groupMemory = 4096

func (g *groups) known(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.written[id]
	return ok
}

func (g *groups) add(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.written == nil || len(g.written) >= groupMemory {
		g.written = make(map[string]struct{})
	}
	g.written[id] = struct{}{}
}
