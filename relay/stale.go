package relay

import (
	"errors"
	"slices"
)

// errStale means that a batch holds what must not be written now.
var errStale = errors.New("the lease is not valid now")

// stale reports whether what st says must not be written now: a retry, while
// another instance may own the outbox. It would hide the record from the pages
// that the new owner reads, and younger ones of its aggregate would be delivered
// before it. What the other kinds say holds whoever owns the outbox: a record is
// delivered or dead, pending, or held by a freeze that the write insists on.
func (st *settlement) stale() bool {
	return st.kind == settleRetry && !st.entry.outbox.grant.Valid()
}

// withoutStale takes what is stale out of a batch. Those retries go on in memory
// alone: their next mark, once the lease is valid again, tells of all attempts. If
// it stays lost, the next owner counts them anew.
func (s *settler) withoutStale(batch []*settlement) []*settlement {
	out := batch[:0:0]
	for _, st := range batch {
		if st.stale() {
			s.superseded(st)
			continue
		}
		out = append(out, st)
	}
	return out
}

func anyStale(batch []*settlement) bool { return slices.ContainsFunc(batch, (*settlement).stale) }
