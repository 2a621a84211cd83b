package relay

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// fence takes out of a batch the holds of aggregates that are not frozen any
// more, to be judged again, and has the others insist on the freeze as it is
// known now.
func (s *settler) fence(batch []*settlement) []*settlement {
	out := batch[:0:0]
	for _, st := range batch {
		if st.kind == settleHeld {
			if st.fence = st.entry.outbox.freezes.fence(st.entry.rec.AggregateID); st.fence == nil {
				s.unhold(st)
				continue
			}
		}
		out = append(out, st)
	}
	return out
}

// unhold gives up a hold whose aggregate is not frozen any more: its record is
// read again in its turn, or goes to its lane if no feed would bring it.
func (s *settler) unhold(st *settlement) {
	s.ends(st)
	e := st.entry
	actions := e.outbox.ledger.step(feed.Unheld{Settlement: &st.Settlement, Unsaved: e.unwritten()})
	for _, a := range actions {
		switch a.Do {
		case feed.Write:
			s.push(settlementOf(a))
		case feed.Submit:
			e.outbox.submit(e)
		default:
			e.outbox.left(e, a)
		}
	}
}

// fenceMoved reads the freeze of a refused hold again and reports whether it is
// not the one on which the hold insisted, or cannot be read.
func (s *settler) fenceMoved(ctx context.Context, st *settlement) bool {
	z, aggregateID := st.entry.outbox.freezes, st.entry.rec.AggregateID
	ctx, cancel := context.WithTimeout(ctx, s.tuning.CommitTimeout)
	defer cancel()
	if z.look(ctx, aggregateID) != nil {
		return true
	}
	now := z.fence(aggregateID)
	return now == nil || !now.UpdateTime.Equal(st.fence.UpdateTime)
}

// once leaves out of a commit's writes what an earlier one of them says
// already: that a group exists, or that a freeze stands.
func once(writes []Write) []Write {
	type document struct{ collection, id string }
	var seen map[document]bool
	out := writes[:0]
	for _, w := range writes {
		shared := w.Collection == contracts.CollectionGroups || w.Collection == contracts.CollectionFrozen && w.Op == OpUpdate
		if shared {
			at := document{w.Collection, w.ID}
			if seen[at] {
				continue
			}
			if seen == nil {
				seen = make(map[document]bool)
			}
			seen[at] = true
		}
		out = append(out, w)
	}
	return out
}
