package console

import (
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

const (
	// sampleEvery is the resolution of the lines on the overview.
	sampleEvery = 5 * time.Second
	// sampledFor is how far they go back.
	sampledFor = 10 * time.Minute
	// ratedOver is what a rate that is read, and not looked at, is the mean of.
	ratedOver = time.Minute
)

// sample is how this instance did at a moment.
type sample struct {
	at      time.Time
	lanes   map[contracts.Lane]admin.LaneStatus
	pending map[string]int64 // in Firestore, by outbox; as far as it is known
}

// samples are the last of them, oldest first. They are taken from memory alone,
// whether anybody looks or not: who looks wants to know how it came to this.
type samples struct {
	status admin.Status
	every  time.Duration
	done   chan struct{}
	ended  sync.WaitGroup
	end    func()

	mu   sync.Mutex
	kept []sample
}

// newSamples begins to take samples; close ends it. A nil status has none.
func newSamples(status admin.Status, every time.Duration) *samples {
	if every == 0 {
		every = sampleEvery
	}
	s := &samples{status: status, every: every, done: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.done) })
	if status != nil {
		s.take(time.Now())
		s.ended.Go(s.run)
	}
	return s
}

func (s *samples) close() {
	s.end()
	s.ended.Wait()
}

func (s *samples) run() {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case at := <-tick.C:
			s.take(at)
		}
	}
}

func (s *samples) take(at time.Time) {
	now := sample{at: at, lanes: make(map[contracts.Lane]admin.LaneStatus), pending: make(map[string]int64)}
	for _, l := range s.status.Lanes() {
		now.lanes[l.Lane] = l
	}
	for _, o := range s.status.Outboxes() {
		if o.Pending != nil {
			now.pending[o.Outbox] += *o.Pending
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, now)
	for at.Sub(s.kept[0].at) > sampledFor {
		s.kept = s.kept[1:]
	}
}

// all returns the samples; nobody changes them.
func (s *samples) all() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.kept)
}

// rates is how many records of a lane came in and were delivered, in a second;
// nil where that is not known yet.
func rates(all []sample, lane contracts.Lane) (in, out *float64) {
	if len(all) < 2 {
		return nil, nil
	}
	last := all[len(all)-1]
	first := all[0]
	for _, s := range all[:len(all)-1] {
		if last.at.Sub(s.at) < ratedOver {
			break
		}
		first = s
	}
	return perSecond(first, last, lane)
}

// perSecond is what a lane did between two samples.
func perSecond(from, to sample, lane contracts.Lane) (in, out *float64) {
	took := to.at.Sub(from.at).Seconds()
	a, before := from.lanes[lane]
	b, now := to.lanes[lane]
	if took <= 0 || !before || !now {
		return nil, nil
	}
	return new(float64(b.Received-a.Received) / took), new(float64(b.Delivered-a.Delivered) / took)
}

const (
	// growsOver is how long a backlog must have grown before it is called growing.
	// It is counted every half minute.
	growsOver = 4 * time.Minute
	// growsFrom is how many records are no backlog worth a word.
	growsFrom = 100
)

// growth tells from how many records to how many an outbox's backlog grew in the
// last minutes; ok is false where it did not, or only by a burst.
func growth(all []sample, outbox string) (from, to int64, ok bool) {
	if len(all) == 0 {
		return 0, 0, false
	}
	last := all[len(all)-1]
	at := func(ago time.Duration) (int64, bool) {
		for _, then := range slices.Backward(all) {
			if last.at.Sub(then.at) >= ago {
				v, ok := then.pending[outbox]
				return v, ok
			}
		}
		return 0, false
	}
	from, known := at(growsOver)
	half, knownHalf := at(growsOver / 2)
	to, knownNow := at(0)
	if !known || !knownHalf || !knownNow {
		return 0, 0, false
	}
	return from, to, to >= growsFrom && from < half && half < to
}
