package main

import (
	"time"

	"outboxrelay/contracts"
)

// delivery is a record that was published to all its targets.
type delivery struct {
	lane contracts.Lane
	at   time.Time // createdAt, by the server
	lag  time.Duration
}

// harvest takes the complete records out of the book, in no order. A long run
// would otherwise keep them all, and look at all of them again and again.
func (b *book) harvest() []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []delivery
	for key, rec := range b.records {
		lag, complete := rec.lag(b.published[key])
		if !complete {
			continue
		}
		out = append(out, delivery{rec.lane, rec.at, lag})
		delete(b.records, key)
		delete(b.published, key)
	}
	return out
}

func ofLane(deliveries []delivery, lane contracts.Lane) []delivery {
	var out []delivery
	for _, d := range deliveries {
		if d.lane == lane {
			out = append(out, d)
		}
	}
	return out
}

// lagsOf are the lane's.
func lagsOf(deliveries []delivery, lane contracts.Lane) *lags {
	out := newLags()
	for _, d := range deliveries {
		if d.lane == lane {
			out.add(d.lag)
		}
	}
	return out
}

// sliced are the deliveries by the slice that they were appended in, of n slices
// of one length. Those before and after are left out. The bench and the cloud
// share a machine and so a clock.
func sliced(deliveries []delivery, from time.Time, every time.Duration, n int) [][]delivery {
	out := make([][]delivery, n)
	for _, d := range deliveries {
		since := d.at.Sub(from)
		if i := int(since / every); since >= 0 && i < n {
			out[i] = append(out[i], d)
		}
	}
	return out
}
