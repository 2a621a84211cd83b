package relay

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

// A listener that tells nothing may be dead, or have nothing to tell. While nothing
// is pending in its outbox it has nothing to tell: one count knows that of all its
// listeners at once, for a read, where a canary is a write and a read for each of
// them. So all of them are to prove themselves where something is pending, or may
// be, and of the others one at a time.

// proofLoop has the outbox's listeners prove that they live, each CanaryInterval,
// unless nothing is pending.
func (o *outbox) proofLoop(ctx context.Context) error {
	for sleep(ctx, o.tuning.CanaryInterval) {
		nothing := false
		_ = o.guard.do(partProof, func() error { nothing = o.nothingPending(ctx, o.now()); return nil })
		if !nothing {
			o.health.askAll(o.now())
		}
	}
	return nil
}

// nothingPending reports whether nothing is pending in this share, as it stood at a
// moment or later. It reports false where that is not known.
func (o *outbox) nothingPending(ctx context.Context, asOf time.Time) bool {
	if o.ledger.size() > 0 || slices.ContainsFunc(o.intakes, func(in *intake) bool { return in.leftBehind() > 0 }) {
		return false // what is in memory is pending, or was until now
	}
	if nothing, known := o.health.nothing(asOf); known {
		return nothing
	}
	began := o.now()
	scans := append([]Scan{o.scan(ScanUnordered)}, o.strayScans()[1:]...)
	counts, err := o.store.Count(ctx, scans...)
	if err != nil {
		if ctx.Err() == nil {
			o.log.Warn("count what is pending", zap.Error(err))
		}
		return false
	}
	return o.health.counted(began, scans, counts)
}

// proveInTurn has the listener whose proof is the oldest give another one, each
// CanaryInterval, whatever is pending. Their connection is heard from by that.
func (r *Relay) proveInTurn(ctx context.Context) {
	for sleep(ctx, r.tuning.CanaryInterval) {
		var oldest *listenerState
		var at time.Time
		for _, o := range r.shares.list() {
			if s, proven := o.health.oldestProof(); s != nil && (oldest == nil || proven.Before(at)) {
				oldest, at = s, proven
			}
		}
		if oldest != nil {
			oldest.ask(r.now())
		}
	}
}

// pendingCount is what was pending in a share when that was counted last.
type pendingCount struct {
	began   time.Time // the count; zero: there is none that can be relied on
	nothing bool
}

// nothing reports whether nothing was pending by the last count, unless that began
// before a moment.
func (h *outboxHealth) nothing(asOf time.Time) (nothing, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count.began.IsZero() || h.count.began.Before(asOf) {
		return false, false
	}
	return h.count.nothing, true
}

// counted takes in what is pending in the share, and of odd shards if there are
// scans for these: more or less than the canaries that stand there is something. A
// canary that somebody deleted hides nothing for long, as it is touched again.
func (h *outboxHealth) counted(began time.Time, scans []Scan, counts []int64) (nothing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pendsLocked(counts[0])
	h.count = pendingCount{}
	if !began.After(h.stood) {
		return false
	}
	canaries := make([]int64, len(scans))
	for i, s := range scans {
		canaries[i] = h.canariesLocked(s.Kind)
	}
	nothing = slices.Equal(counts, canaries)
	h.count = pendingCount{began, nothing}
	return nothing
}

// pends takes in how many documents of the share are pending, canaries included.
func (h *outboxHealth) pends(documents int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pendsLocked(documents)
}

func (h *outboxHealth) pendsLocked(documents int64) {
	h.pending = max(documents-h.canariesLocked(ScanUnordered), 0)
}

// canariesLocked is how many canaries stand among the documents of such a scan.
func (h *outboxHealth) canariesLocked(kind ScanKind) (n int64) {
	for name, s := range h.listeners {
		odd := name == listenerShardBelow || name == listenerShardAbove
		own := odd && name == listenerName(Scan{Kind: kind})
		if s.canary && (own || !odd && kind == ScanUnordered) {
			n++
		}
	}
	return n
}

// askAll asks every listener that is open for a proof.
func (h *outboxHealth) askAll(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.listeners {
		s.askLocked(now)
	}
}

// oldestProof returns the listener that proved itself the longest ago, of those that
// are open and of which no proof is asked; nil: there is none.
func (h *outboxHealth) oldestProof() (oldest *listenerState, proven time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range h.order {
		s := h.listeners[name]
		if s.since.IsZero() || !s.asked.IsZero() || s.provenAt.IsZero() {
			continue
		}
		if oldest == nil || s.provenAt.Before(proven) {
			oldest, proven = s, s.provenAt
		}
	}
	return oldest, proven
}

// ask has the listener's watchdog touch the canary now.
func (s *listenerState) ask(now time.Time) { s.set(func() { s.askLocked(now) }) }

func (s *listenerState) askLocked(now time.Time) {
	if s.since.IsZero() { // it is closed
		return
	}
	if s.asked.IsZero() {
		s.asked = now
	}
	signal(s.wanted)
}

// owes tells that the canary is about to be touched, for whatever was asked so far.
func (s *listenerState) owes(now time.Time) {
	s.set(func() {
		select {
		case <-s.wanted:
		default:
		}
		if s.asked.IsZero() {
			s.asked = now
		}
	})
}

// touched tells that the canary stands. A count during which one came to stand says
// nothing for certain of what else is pending.
func (s *listenerState) touched(now time.Time) {
	s.set(func() {
		if !s.canary {
			s.canary, s.health.stood, s.health.count = true, now, pendingCount{}
		}
	})
}
