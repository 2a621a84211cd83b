package main

import (
	"context"
	"slices"
	"time"
)

// sampleEvery is how often a process is looked at. Its CPU time has a
// resolution of 10 ms, so more would show no more.
const sampleEvery = 25 * time.Millisecond

// sample is the use of a process at a time.
type sample struct {
	at time.Time
	usage
}

// sampler notes what a process uses until it is stopped or the process ends.
type sampler struct {
	stop    context.CancelFunc
	done    chan struct{}
	samples []sample // valid after done
}

func startSampler(pid int) *sampler {
	ctx, stop := context.WithCancel(context.Background())
	s := &sampler{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.run(ctx, pid)
	}()
	return s
}

func (s *sampler) run(ctx context.Context, pid int) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		u, err := readUsage(pid)
		if err != nil {
			return // it has ended
		}
		s.samples = append(s.samples, sample{time.Now(), u})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// timeline stops the sampler and returns what it saw.
func (s *sampler) timeline() timeline {
	s.stop()
	<-s.done
	return s.samples
}

// timeline is the use of a process over time, oldest first.
type timeline []sample

// cpuAt is the CPU time used until at, between two samples in proportion.
func (t timeline) cpuAt(at time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(t, at, func(s sample, at time.Time) int { return s.at.Compare(at) })
	switch {
	case len(t) == 0:
		return 0
	case i == 0:
		return t[0].cpu
	case i == len(t):
		return t[i-1].cpu
	}
	before, after := t[i-1], t[i]
	share := float64(at.Sub(before.at)) / float64(after.at.Sub(before.at))
	return before.cpu + time.Duration(share*float64(after.cpu-before.cpu))
}

// peak is the most that was resident at any time.
func (t timeline) peak() int64 {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1].usage.peak
}

// median is the median of what was resident, in bytes.
func (t timeline) median() int64 {
	if len(t) == 0 {
		return 0
	}
	sizes := make([]int64, len(t))
	for i, s := range t {
		sizes[i] = s.rss
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}
