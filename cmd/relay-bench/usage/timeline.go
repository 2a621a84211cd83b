package usage

import (
	"context"
	"slices"
	"time"
)

// sampleEvery is how often a process is looked at. Its CPU time has a
// resolution of 10 ms, so more would show no more.
const sampleEvery = 25 * time.Millisecond

// Sample is the use of a process at a time.
type Sample struct {
	At time.Time
	Usage
}

// Watcher notes what a process uses until it is stopped or the process ends.
type Watcher struct {
	stop    context.CancelFunc
	done    chan struct{}
	samples []Sample // valid after done
}

// Watch begins to look at a process. The caller calls Timeline.
func Watch(pid int) *Watcher {
	ctx, stop := context.WithCancel(context.Background())
	w := &Watcher{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.run(ctx, pid)
	}()
	return w
}

func (w *Watcher) run(ctx context.Context, pid int) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		u, err := Of(pid)
		if err != nil {
			return // it has ended
		}
		w.samples = append(w.samples, Sample{time.Now(), u})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Timeline stops the watcher and returns what it saw.
func (w *Watcher) Timeline() Timeline {
	w.stop()
	<-w.done
	return w.samples
}

// Timeline is the use of a process over time, oldest first.
type Timeline []Sample

// CPUAt is the CPU time used until at, between two samples in proportion.
func (t Timeline) CPUAt(at time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(t, at, func(s Sample, at time.Time) int { return s.At.Compare(at) })
	switch {
	case len(t) == 0:
		return 0
	case i == 0:
		return t[0].CPU
	case i == len(t):
		return t[i-1].CPU
	}
	before, after := t[i-1], t[i]
	share := float64(at.Sub(before.At)) / float64(after.At.Sub(before.At))
	return before.CPU + time.Duration(share*float64(after.CPU-before.CPU))
}

// Peak is the most that was resident at any time.
func (t Timeline) Peak() int64 {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1].Peak
}

// Median is the median of what was resident, in bytes.
func (t Timeline) Median() int64 {
	if len(t) == 0 {
		return 0
	}
	sizes := make([]int64, len(t))
	for i, s := range t {
		sizes[i] = s.RSS
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}
