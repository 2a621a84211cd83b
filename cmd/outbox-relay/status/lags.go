package status

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

const (
	// The lag is that of the last lagSlots slots and of the one that has begun.
	lagSlot  = 10 * time.Second
	lagSlots = 6
	// longestLag is what a longer one counts as: a histogram has to end somewhere.
	longestLag = 24 * time.Hour
)

// Lags keeps each lane's lag of about the last minute, and hands every
// sample on. It is told of attempts, as relay_lag is; those that failed, and
// replays of dead letters, say nothing of the lane.
type Lags struct {
	next  ier.Sampler
	now   func() time.Time
	lanes map[contracts.Lane]*laneLag
}

type laneLag struct {
	mu    sync.Mutex
	turns *hdrhistogram.WindowedHistogram // of milliseconds; nil before the first sample
	began time.Time                       // of the slot that is being filled
}

// NewLags hands its samples on to next.
func NewLags(next ier.Sampler, now func() time.Time) *Lags {
	w := &Lags{next: next, now: now, lanes: make(map[contracts.Lane]*laneLag)}
	for _, lane := range contracts.Lanes() {
		w.lanes[lane] = &laneLag{began: now()}
	}
	return w
}

// Sample implements ier.Sampler.
func (w *Lags) Sample(s ier.LagSample) {
	w.next.Sample(s)
	l := w.lanes[s.Lane]
	if l == nil || s.Outcome != ier.OutcomeAcked || s.Replay {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil { // many an instance never has a record of some lane
		l.turns = hdrhistogram.NewWindowed(lagSlots+1, 1, longestLag.Milliseconds(), 2)
	}
	l.turn(w.now())
	_ = l.turns.Current.RecordValue(min(max(s.LagMs, 1), longestLag.Milliseconds())) // within its bounds
}

// quantiles are the lag's median and what one in a hundred exceeds; 0 where
// nothing was delivered. What took less than a millisecond took one.
func (w *Lags) quantiles(lane contracts.Lane) (p50, p99 time.Duration) {
	l := w.lanes[lane]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		return 0, 0
	}
	l.turn(w.now())
	all := l.turns.Merge()
	return quantile(all, 50), quantile(all, 99)
}

// quantile is a lag rounded down, by less than a hundredth: the histogram rounds up, and
// what is told to be longer than a bound has to be.
func quantile(all *hdrhistogram.Histogram, percent float64) time.Duration {
	longest := all.ValueAtQuantile(percent)
	for _, bar := range all.Distribution() {
		if bar.To >= longest {
			return time.Duration(bar.From) * time.Millisecond
		}
	}
	return 0
}

// turn drops what is too old by now.
func (l *laneLag) turn(now time.Time) {
	passed := int(now.Sub(l.began) / lagSlot)
	if passed <= 0 {
		return
	}
	for range min(passed, lagSlots+1) {
		l.turns.Rotate()
	}
	l.began = l.began.Add(time.Duration(passed) * lagSlot)
}
