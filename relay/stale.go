package relay

import (
	"context"

	"go.uber.org/zap"
)

// stale reports whether what st says must not be written now, while another instance
// may own the outbox. A retry would hide the record from the pages that the new
// owner reads, and younger ones of its aggregate would be delivered before it. A
// dead letter whose record is gone would be replayed though the new owner may have
// delivered the record, which expired since. What else is said holds whoever owns
// the outbox: a record is delivered, pending, or held by a freeze that the write
// insists on, or dead, if it is still there and nobody changed it.
func (st *settlement) stale() bool {
	return (st.kind == settleRetry || st.orphaned()) && !st.entry.outbox.grant.Valid()
}

// orphaned reports whether st is a dead letter whose record is gone.
func (st *settlement) orphaned() bool { return st.kind == settleDead && st.dead.orphan }

// withoutStale takes what is stale out of a batch. Retries go on in memory alone:
// their next mark, once the lease is valid again, tells of all attempts. If it stays
// lost, the next owner counts them anew. Dead letters whose record is gone wait for the
// lease, and are dropped once it is lost.
func (s *settler) withoutStale(ctx context.Context, batch []*settlement) []*settlement {
	out := batch[:0:0]
	for _, st := range batch {
		switch {
		case !st.stale():
			out = append(out, st)
		case st.orphaned() && !st.entry.outbox.grant.Ended():
			s.later(ctx, st) // once the lease is renewed: nobody owned the outbox in between then
		case st.orphaned():
			rec := st.entry.rec
			s.log.Error("record to be dead-lettered is gone from its outbox, which another instance owns: no dead letter is written",
				zap.String("outbox", rec.Outbox), zap.String("record", rec.ID), zap.String("traceId", rec.TraceID))
			s.abandon(st, s.now())
		default:
			s.superseded(st)
		}
	}
	return out
}
