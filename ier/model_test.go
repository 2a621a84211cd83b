package ier

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// TestRouterModel plays a lane over scripted targets: it delivers runs of one
// aggregate until nothing is left, and checks order and completeness.
func TestRouterModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"A", "B", "C"}
		script := rapid.SampledFrom([]error{nil, nil, nil, errOut, errPermanent, errAttributable})
		targets := map[string]Target{}
		fakes := map[string]*scripted{}
		for _, name := range names {
			fakes[name] = &scripted{answer: func(rec *contracts.Record) error {
				return script.Draw(t, fmt.Sprintf("%s of %s", name, rec.EventID))
			}}
			targets[name] = serial{fakes[name]}
		}
		// The breaker has its own model; here it stays out of the way.
		r, err := New(Config{Targets: targets, Breaker: BreakerConfig{Consecutive: 1 << 30, MinCalls: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}

		var queue []*Job
		wants := map[string][]string{} // target: event IDs that need it, in order
		dead := map[string]bool{}
		for v := range rapid.IntRange(1, 12).Draw(t, "records") {
			need := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(t, "targets")
			job := newJob(v, need...)
			queue = append(queue, job)
			for _, name := range need {
				wants[name] = append(wants[name], job.Record.EventID)
			}
		}
		for round := 0; len(queue) > 0; round++ {
			run := queue[:rapid.IntRange(1, len(queue)).Draw(t, "run")]
			rest := queue[len(run):]
			outcomes := r.Deliver(context.Background(), run, nil)
			var left []*Job
			for i, job := range run {
				o := outcomes[i]
				checkComplete(t, job, o)
				for _, f := range o.Failed {
					// Later records that need the same target must not have got there.
					for j := i + 1; j < len(run); j++ {
						if slices.Contains(outcomes[j].Acked, f.Target) {
							t.Fatalf("%s overtook %s at %s", run[j].Record.EventID, job.Record.EventID, f.Target)
						}
					}
				}
				if slices.ContainsFunc(o.Failed, func(f TargetFailure) bool { return f.Kind == contracts.Permanent }) {
					dead[job.Record.EventID] = true
					continue
				}
				job.Targets = slices.DeleteFunc(slices.Clone(job.Targets), func(n string) bool { return slices.Contains(o.Acked, n) })
				if len(job.Targets) > 0 {
					left = append(left, job)
				}
			}
			queue = append(left, rest...)
			if round > 10_000 {
				t.Fatal("no end")
			}
		}
		for _, name := range names {
			want := slices.DeleteFunc(slices.Clone(wants[name]), func(id string) bool {
				return dead[id] && !slices.Contains(fakes[name].acked, id)
			})
			if !slices.Equal(want, fakes[name].acked) {
				t.Fatalf("%s acknowledged %v, want %v", name, fakes[name].acked, want)
			}
		}
	})
}

// serial makes a target draw from rapid in one goroutine at a time; the router
// calls targets at the same time, which rapid's values do not allow.
type serial struct{ *scripted }

var serialTurn = make(chan struct{}, 1)

func (s serial) Deliver(ctx context.Context, parcels []Parcel) []error {
	serialTurn <- struct{}{}
	defer func() { <-serialTurn }()
	return s.scripted.Deliver(ctx, parcels)
}

func checkComplete(t *rapid.T, job *Job, o Outcome) {
	got := slices.Concat(o.Acked, o.Blocked, o.Behind)
	for _, f := range o.Failed {
		got = append(got, f.Target)
	}
	want := slices.Sorted(slices.Values(job.Targets))
	if slices.Sort(got); !slices.Equal(want, got) {
		t.Fatalf("%s has answers for %v, want %v", job.Record.EventID, got, want)
	}
}

// step is one step of TestBreakerModel.
type step struct {
	do   string
	wait time.Duration // of "wait"
}

// TestBreakerModel compares a breaker that trips on consecutive outages only
// with the plain rule of it. The steps are drawn outside the bubble: rapid
// wants its own goroutine and the true clock.
func TestBreakerModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				do:   rapid.SampledFrom([]string{"good", "outage", "outage", "refusal", "cut", "wait", "probe time"}).Draw(t, "do"),
				wait: time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond,
			}
		}), 1, 60).Draw(rt, "steps")
		var fault string
		synctest.Test(t, func(*testing.T) { fault = playBreaker(steps) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// playBreaker returns the first difference between breaker and rule, or "".
func playBreaker(steps []step) string {
	const trip, openFor = 3, 2 * time.Second
	var (
		answer error
		cut    context.CancelFunc
		calls  int
		told   []bool
	)
	target := targetFunc(func(_ context.Context, parcels []Parcel) []error {
		calls++
		if cut != nil {
			cut()
		}
		if answer == nil {
			return make([]error, len(parcels))
		}
		return fill(len(parcels), answer)
	})
	r, err := New(Config{
		Targets: map[string]Target{"A": target},
		Breaker: BreakerConfig{Consecutive: trip, MinCalls: 1 << 30, OpenFor: openFor},
	})
	if err != nil {
		return err.Error()
	}
	r.Subscribe(func(_ string, open bool) { told = append(told, open) })

	var ( // the rule's state
		inRow   int
		open    bool
		probeAt time.Time
		news    []bool
	)
	for i, s := range steps {
		switch s.do {
		case "wait":
			time.Sleep(s.wait)
			continue
		case "probe time":
			time.Sleep(max(0, time.Until(r.NextProbe("A", newJob(1, "A").Record))))
			continue
		}
		wantCall := !open || !time.Now().Before(probeAt)
		before := calls
		ctx, cancel := context.WithCancel(context.Background())
		cut = nil
		switch s.do {
		case "good":
			answer = nil
		case "outage":
			answer = errOut
		case "refusal":
			answer = errPermanent
		case "cut":
			answer, cut = errOut, cancel
		}
		r.Deliver(ctx, []*Job{newJob(1, "A")}, nil)
		cancel()
		if got := calls > before; got != wantCall {
			return fmt.Sprintf("step %d, %s: passed is %v, want %v", i, s.do, got, wantCall)
		}
		if wantCall && s.do != "cut" {
			was := open
			if s.do != "outage" {
				inRow, open = 0, false
			} else if inRow++; inRow >= trip {
				open, probeAt = true, time.Now().Add(openFor+time.Millisecond)
			}
			if open != was {
				news = append(news, open)
			}
		}
		if got := r.Open("A"); got != open {
			return fmt.Sprintf("step %d, %s: open is %v, want %v", i, s.do, got, open)
		}
		if !slices.Equal(news, told) {
			return fmt.Sprintf("step %d, %s: subscriber heard %v, want %v", i, s.do, told, news)
		}
	}
	return ""
}
