package main

import (
	"slices"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"outboxrelay/contracts"
)

// appended is a record as the bench knows it.
type appended struct {
	at      time.Time // createdAt, by the server
	lane    contracts.Lane
	targets int
}

// book joins what was appended with what was published. Both times are the
// server's, and neither side reports anything about itself.
type book struct {
	mu        sync.Mutex
	records   map[string]appended  // by idempotency key
	published map[string][]arrival // by idempotency key
}

type arrival struct {
	at    time.Time // of the publish, by the server
	topic string
}

func newBook() *book {
	return &book{records: map[string]appended{}, published: map[string][]arrival{}}
}

func (b *book) appended(key string, rec appended) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records[key] = rec
}

// arrived notes a message. One that is published again keeps its first time.
func (b *book) arrived(key, topic string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, a := range b.published[key] {
		if a.topic == topic {
			if at.Before(a.at) {
				b.published[key][i].at = at
			}
			return
		}
	}
	b.published[key] = append(b.published[key], arrival{at, topic})
}

// outstanding is how many appended records lack a message of some target.
func (b *book) outstanding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for key, rec := range b.records {
		if len(b.published[key]) < rec.targets {
			n++
		}
	}
	return n
}

// lags are the lane's times from append to the publish at the last target. A
// record that lacks one is left out.
func (b *book) lags(lane contracts.Lane) *lags {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := newLags()
	for key, rec := range b.records {
		if lag, complete := rec.lag(b.published[key]); complete && rec.lane == lane {
			out.add(lag)
		}
	}
	return out
}

// lag is the time to the last of the arrivals, once there is one for each target.
func (a appended) lag(arrivals []arrival) (_ time.Duration, complete bool) {
	if len(arrivals) < a.targets {
		return 0, false
	}
	last := slices.MaxFunc(arrivals, func(x, y arrival) int { return x.at.Compare(y.at) })
	return last.at.Sub(a.at), true
}

// lags is a distribution of times.
type lags struct{ histogram *hdr.Histogram }

// maxLag bounds what a distribution tells apart; more counts as this.
const maxLag = 10 * time.Minute

func newLags() *lags {
	return &lags{hdr.New(1, maxLag.Microseconds(), 3)}
}

func (l *lags) add(d time.Duration) {
	// A time outside the range is the only error, and there is none now.
	_ = l.histogram.RecordValue(min(max(d, time.Microsecond), maxLag).Microseconds())
}

func (l *lags) count() int64 { return l.histogram.TotalCount() }

// quantile is in milliseconds; percent is 0 to 100.
func (l *lags) quantile(percent float64) float64 {
	return float64(l.histogram.ValueAtQuantile(percent)) / 1000
}
