package relay

import (
	"context"
	"time"
)

// single is what is tried by itself of an outbox: a settlement that is refused, in
// contention, or whose commits go unanswered while others' are not.
type single struct {
	slots chan struct{} // tries under way: what hangs holds up those of its outbox alone
	alone int           // settlements whose commits go unanswered; guarded by the settler's mu
	since time.Time     // when alone was 0 last; guarded by the settler's mu
}

// maxSingles is how many settlements of an outbox are tried by themselves at once.
const maxSingles = 16

// singleOf returns what is tried by itself of an outbox. It is called under mu.
func (s *settler) singleOf(outbox string) *single {
	o := s.singles[outbox]
	if o == nil {
		o = &single{slots: make(chan struct{}, maxSingles)}
		s.singles[outbox] = o
	}
	return o
}

// later writes a settlement after a while, by itself: the rest of its batch and of
// its lane must not wait for it.
func (s *settler) later(ctx context.Context, st *settlement) {
	if st.delay == nil {
		st.delay = s.tuning.retryDelay()
	}
	s.mu.Lock()
	o, alone := s.singleOf(st.entry.outbox.spec.Name), 0
	if st.alone {
		alone = 1
		if o.alone == 0 {
			o.since = s.now()
		}
	}
	o.alone += alone
	s.mu.Unlock()
	s.outside(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			o.alone -= alone
		}()
		if !st.delay.sleep(ctx) {
			return
		}
		select {
		case o.slots <- struct{}{}:
			defer func() { <-o.slots }()
			s.write(ctx, []*settlement{st})
		case <-ctx.Done():
		}
	})
}
