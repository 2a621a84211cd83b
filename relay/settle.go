package relay

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// settlement is one record's next state on its way to Firestore. A newer
// settlement of the same record replaces one that has not been sent.
type settlement struct {
	feed.Settlement // the feeds' part of it
	entry           *entry
	kind            settleKind
	dead            *deadLetter // settleDead only
	fence           *dlq.Freeze // settleHeld only: the freeze that it insists on, when it is written
	// at is the moment that the settlement tells of.
	at time.Time
	// since is when the span of it begins, if the record is traced.
	since  time.Time
	failed *failedAttempt // settleRetry only
	// sent is the update time on which the writes were last conditioned.
	sent time.Time
	// written is the update time that the commit left the record with; zero: it was
	// deleted.
	written time.Time
	// size is the rough number of bytes that its writes carry.
	size int
	// slim is how often the writes were cut down because Firestore refused
	// them as too large.
	slim int
	// over says that it is written, or needs not be.
	over bool
	// unanswered is how many commits of it had no answer, alone whether it is
	// tried by itself for that.
	unanswered int
	alone      bool
	delay      *retryDelay // of its tries by itself
}

// failedAttempt is what a settlement says of a failed attempt: a copy, since the
// record stays with its lane.
type failedAttempt struct {
	attempts  int
	next      time.Time
	lastError string
	errors    []contracts.AttemptError
	targets   []string // those that acknowledged
}

// settleKind is the bounded word for what a settlement says.
type settleKind string

const (
	settleDelivered settleKind = "delivered" // every target acknowledged
	settleRetry     settleKind = "retry"     // an attempt failed and was counted
	settleProgress  settleKind = "progress"  // back to pending, with the targets that acknowledged; it leaves memory
	settleDead      settleKind = "dead"      // dead letter and status, atomically
	settleHeld      settleKind = "held"      // its aggregate is frozen
)

// settleKinds lists every kind, for metrics.
func settleKinds() []settleKind {
	return []settleKind{settleDelivered, settleRetry, settleProgress, settleDead, settleHeld}
}

// settler writes the settlements of one lane: in batches after a short linger,
// several commits under way at once, a document that fails apart from its
// batch, an outbox that fails apart from the others. While Firestore is down it
// tries on; nothing is dropped.
type settler struct {
	lane    contracts.Lane
	linger  time.Duration
	store   Store
	tuning  Tuning
	now     func() time.Time
	log     *zap.Logger
	guard   guard
	metrics *Metrics

	mu       sync.Mutex
	queue    []*settlement
	troubles map[part]*trouble // what does not get through waits there, not in queue
	draining bool
	beside   int           // tries under way, or to come, that hold no slot
	wake     chan struct{} // a token when the queue grew or draining began

	commits sync.WaitGroup
	slots   chan struct{}
	singles map[string]*single // by outbox: what is tried by itself

	behind    atomic.Int32 // outboxes that work off a backlog of the lane
	retiring  atomic.Int32 // outboxes that end once they are written
	unwritten atomic.Int64 // settlements that are not over, those under way in a commit too
}

func newSettler(lane contracts.Lane, linger time.Duration, st Store, t Tuning, now func() time.Time, log *zap.Logger, m *Metrics) *settler {
	return &settler{
		lane: lane, linger: linger, store: st, tuning: t, now: now, log: log, guard: guard{log, m.panics}, metrics: m,
		wake: make(chan struct{}, 1), slots: make(chan struct{}, t.Commits), singles: make(map[string]*single), troubles: make(map[part]*trouble),
	}
}

// settle takes a settlement. It never blocks: what is queued is bounded by the
// records in memory.
func (s *settler) settle(st *settlement) {
	st.Settlement = feed.Settlement{Record: &st.entry.Record, Kind: st.kind.makes(), Owner: st}
	s.tell(st, feed.Settle{Settlement: &st.Settlement})
}

// tell hands over what became of a settlement, and queues the one of its record that
// is to be written now. It reports whether there is one.
func (s *settler) tell(st *settlement, e feed.Event) (another bool) {
	var few [fewActions]feed.Action
	actions, _ := st.entry.outbox.ledger.take(e, few[:0])
	for _, a := range actions {
		if a.Do == feed.Write {
			another = true
			s.push(settlementOf(a))
		}
	}
	return another
}

func settlementOf(a feed.Action) *settlement { return a.Write.Owner.(*settlement) }

// makes is what a settlement of that kind makes of its record in memory.
func (k settleKind) makes() feed.Kind {
	switch k {
	case settleRetry:
		return feed.Mark
	case settleProgress:
		return feed.Save
	default:
		return feed.End
	}
}

func (s *settler) push(st *settlement) {
	s.unwritten.Add(1)
	s.mu.Lock()
	if t := s.troubles[st.part()]; t != nil {
		t.waiting = append(t.waiting, st)
	} else {
		s.queue = append(s.queue, st)
	}
	s.mu.Unlock()
	signal(s.wake)
}

// ends ends a settlement: it is written, or needs not be.
func (s *settler) ends(st *settlement) {
	if !st.over {
		st.over = true
		s.unwritten.Add(-1)
	}
}

// run writes until drain was called and everything is written, or ctx ends.
func (s *settler) run(ctx context.Context) {
	defer s.commits.Wait()
	s.guard.keep(ctx, partSettler, s.tuning.retryDelay(), s.work)
}

func (s *settler) work(ctx context.Context) {
	for {
		batch, trouble := s.collect(ctx)
		if batch == nil {
			return
		}
		if trouble != nil {
			s.probe(ctx, trouble, batch)
			continue
		}
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s.commits.Go(func() {
			defer func() { <-s.slots; signal(s.wake) }()
			s.write(ctx, batch)
		})
	}
}

// hurry makes the settler linger no longer, while something is about to end that
// waits for its writes.
func (s *settler) hurry(on bool) {
	if on {
		s.retiring.Add(1)
		s.mu.Lock()
		s.retry()
		s.mu.Unlock()
	} else {
		s.retiring.Add(-1)
	}
	signal(s.wake)
}

// drain makes run end once everything is written, and no longer linger.
func (s *settler) drain() {
	s.mu.Lock()
	s.draining = true
	s.retry()
	s.mu.Unlock()
	signal(s.wake)
}

// maxCommitBytes bounds a commit well under gRPC's 4 MiB and Firestore's 10.
const maxCommitBytes = 3 << 20

// fitting returns how many settlements of a queue fit into its next batch.
func fitting(queue []*settlement, most int) int {
	n, size := 0, 0
	for n < len(queue) && n < most && (n == 0 || size+queue[n].size <= maxCommitBytes) {
		size += queue[n].size
		n++
	}
	return n
}

// cut takes the first n settlements off a queue.
func cut(queue []*settlement, n int) (batch, rest []*settlement) {
	return slices.Clone(queue[:n]), slices.Delete(queue, 0, n)
}

// collect waits for the next batch, and tells of which trouble it is, if of any. It
// returns nil when there will be none. While every slot is taken it leaves the queue to
// grow: a server that is slow to answer is given larger commits.
func (s *settler) collect(ctx context.Context) (batch []*settlement, of *trouble) {
	lingered := s.linger == 0
	for {
		s.mu.Lock()
		t, batch, wait := s.due()
		if t != nil {
			s.mu.Unlock()
			return batch, t
		}
		may := len(s.queue) > 0 && len(s.slots) < cap(s.slots)
		if may && len(s.queue) > s.tuning.CommitSize {
			evenOut(s.queue)
		}
		n := fitting(s.queue, s.tuning.CommitSize)
		full := n == s.tuning.CommitSize || n < len(s.queue)
		if may && (full || lingered || s.draining || s.retiring.Load() > 0) {
			batch, s.queue = cut(s.queue, n)
			s.mu.Unlock()
			return batch, nil
		}
		ended := n == 0 && s.draining && len(s.slots) == 0 && s.beside == 0 && len(s.troubles) == 0
		s.mu.Unlock()
		if ended {
			return nil, nil
		}
		if may {
			lingered = true
			s.pause(ctx)
			continue
		}
		select {
		case <-s.wake:
		case <-wait:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// pause lingers, or until the batch is full or draining begins.
func (s *settler) pause(ctx context.Context) {
	t := time.NewTimer(s.patience())
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return
		case <-ctx.Done():
			return
		case <-s.wake:
			s.mu.Lock()
			enough := s.draining || s.retiring.Load() > 0 || len(s.queue) >= s.tuning.CommitSize
			s.mu.Unlock()
			if enough {
				return
			}
		}
	}
}

// patience is how long to linger. It is four times as long while a commit is
// under way: a server that is slow to answer is given fewer and larger commits,
// not more of them at once. It is short while there is a backlog, whose reading
// waits for the room in memory that a mark makes.
func (s *settler) patience() time.Duration {
	linger := s.linger
	if s.behind.Load() > 0 {
		linger /= hasty
	}
	if len(s.slots) > 0 {
		linger *= patient
	}
	return linger
}

const (
	hasty   = 10 // how much shorter the linger is while there is a backlog
	patient = 4  // how much longer it is while a commit is under way
)
