package relay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// part is what may fail in Firestore apart from the rest of a lane: the commits of
// one outbox that touch one more collection, or none.
type part struct {
	outbox string
	also   string // dead letters, or freezes
}

func (st *settlement) part() part {
	p := part{outbox: st.entry.outbox.spec.Name}
	switch st.kind {
	case settleDead:
		p.also = contracts.CollectionDeadLetters
	case settleHeld:
		p.also = contracts.CollectionFrozen
	}
	return p
}

func partsOf(batch []*settlement) []part {
	var out []part
	for _, st := range batch {
		if p := st.part(); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// trouble is a part whose commits were not answered. Its settlements wait here, so
// that they take no slot of the lane, and are tried in one batch at a time.
type trouble struct {
	waiting []*settlement
	since   time.Time // when it began
	size    int       // of the next batch: it gets smaller, since one document may be the cause
	delay   *retryDelay
	until   time.Time // when the next batch is tried
	probing int       // how many settlements are in the one under way
}

// suspicious is how many commits of a settlement go unanswered before it is tried by
// itself, once others of its part are answered.
const suspicious = 3

// unanswered keeps a batch whose commit Firestore did not answer for another try. If
// it is of one part, the part waits a while. Of several, nobody knows which failed:
// each is tried at once, by itself.
func (s *settler) unanswered(ctx context.Context, batch []*settlement, cause error) {
	parts := partsOf(batch)
	for _, p := range parts {
		s.log.Warn("settle records, trying again", zap.String("outbox", p.outbox), zap.String("also", p.also),
			zap.Int("commitOf", len(batch)), zap.String("reason", contracts.CodeOf(cause)), zap.Error(cause))
	}
	for _, st := range batch {
		st.unanswered++
	}
	if len(batch) == 1 && batch[0].alone {
		s.later(ctx, batch[0])
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range parts {
		ours := func(st *settlement) bool { return st.part() == p }
		t := s.troubles[p]
		if t == nil {
			t = &trouble{since: s.now(), size: s.tuning.CommitSize, delay: s.tuning.retryDelay()}
			s.troubles[p] = t
			for _, st := range s.queue {
				if ours(st) {
					t.waiting = append(t.waiting, st)
				}
			}
			s.queue = slices.DeleteFunc(s.queue, ours)
		}
		for _, st := range batch {
			if ours(st) {
				t.waiting = append(t.waiting, st)
			}
		}
		if len(parts) == 1 && !s.now().Before(t.until) {
			t.until = s.now().Add(t.delay.next())
			t.size = max(min(t.size, len(batch))/2, 1)
		}
	}
	signal(s.wake)
}

// answered ends the trouble of a batch's parts. What was tried often and is still
// here is tried by itself: its document may be the one that fails.
func (s *settler) answered(ctx context.Context, batch []*settlement) {
	var alone []*settlement
	s.mu.Lock()
	if len(s.troubles) == 0 {
		s.mu.Unlock()
		return
	}
	for _, p := range partsOf(batch) {
		if t := s.troubles[p]; t != nil {
			delete(s.troubles, p)
			for _, st := range t.waiting {
				if st.alone = st.unanswered >= suspicious; st.alone {
					alone = append(alone, st)
				} else {
					s.queue = append(s.queue, st)
				}
			}
			signal(s.wake)
		}
	}
	s.mu.Unlock()
	for _, st := range alone {
		s.later(ctx, st)
	}
}

// due takes the next batch of a part in trouble, if it is time for one, or else tells
// how long until then: nil if there is none to wait for. It is called under mu.
func (s *settler) due() (of *trouble, batch []*settlement, wait <-chan time.Time) {
	var first time.Time
	for p, t := range s.troubles {
		switch {
		case t.probing > 0:
		case len(t.waiting) == 0:
			delete(s.troubles, p) // what was tried came to another end
		case t.until.After(s.now()):
			if first.IsZero() || t.until.Before(first) {
				first = t.until
			}
		default:
			batch, t.waiting = cut(t.waiting, fitting(t.waiting, t.size))
			t.probing = len(batch)
			return t, batch, nil
		}
	}
	if first.IsZero() {
		return nil, nil, nil
	}
	return nil, nil, time.After(first.Sub(s.now()))
}

// retry has every part in trouble tried at once: it is the last time, for all that is
// known. It is called under mu.
func (s *settler) retry() {
	for _, t := range s.troubles {
		t.until = time.Time{}
	}
}

// probe tries a batch of a trouble, which may end meanwhile, and another of its part
// begin.
func (s *settler) probe(ctx context.Context, t *trouble, batch []*settlement) {
	s.outside(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.probing = 0
		}()
		s.write(ctx, batch)
	})
}

// unsettled tells of the settlements that wait since Firestore does not answer, by
// outbox.
func (s *settler) unsettled() []Unsettled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Unsettled
	add := func(outbox string, n int, since time.Time) {
		at := slices.IndexFunc(out, func(u Unsettled) bool { return u.Outbox == outbox })
		switch {
		case n == 0:
		case at < 0:
			out = append(out, Unsettled{Outbox: outbox, Records: n, Since: since})
		default:
			u := &out[at]
			u.Records += n
			if since.Before(u.Since) {
				u.Since = since
			}
		}
	}
	for p, t := range s.troubles {
		add(p.outbox, len(t.waiting)+t.probing, t.since)
	}
	for outbox, o := range s.singles {
		add(outbox, o.alone, o.since)
	}
	slices.SortFunc(out, func(a, b Unsettled) int { return cmp.Compare(a.Outbox, b.Outbox) })
	return out
}

// outside runs f beside the lane's commits, in none of their slots.
func (s *settler) outside(f func()) {
	s.mu.Lock()
	s.beside++
	s.mu.Unlock()
	s.commits.Go(func() {
		defer func() {
			s.mu.Lock()
			s.beside--
			s.mu.Unlock()
			signal(s.wake)
		}()
		f()
	})
}
