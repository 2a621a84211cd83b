package ier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts"
)

var (
	errOut          = fails(contracts.Outage, "Unavailable")
	errPermanent    = fails(contracts.Permanent, "InvalidArgument")
	errAttributable = fails(contracts.Attributable, "Internal")
	errOwn          = &contracts.Failure{Code: "UserNotFound", Own: true}
)

// switched is a target with a switch, and a count of the calls that reach it.
type switched struct {
	err   error
	calls int
}

func (s *switched) Deliver(_ context.Context, parcels []Parcel) []error {
	s.calls++
	if s.err == nil {
		return make([]error, len(parcels))
	}
	return fill(len(parcels), s.err)
}

// deliver sends n single records, one after the other.
func deliver(t *testing.T, r *Router, n int) (last Outcome) {
	t.Helper()
	for i := range n {
		last = r.Deliver(t.Context(), []*Job{newJob(i, "A")}, nil)[0]
	}
	return last
}

func TestBreakerTripsWhenOutageIsTheRule(t *testing.T) {
	tests := []struct {
		name  string
		calls []error
		pause time.Duration // between calls
		want  bool
	}{
		{name: "five outages in a row", calls: []error{errOut, errOut, errOut, errOut, errOut}, want: true},
		{name: "five in a row, minutes apart", calls: []error{errOut, errOut, errOut, errOut, errOut}, pause: time.Minute, want: true},
		{name: "four in a row", calls: []error{errOut, errOut, errOut, errOut, nil, errOut, errOut}},
		{name: "half of ten", calls: []error{nil, errOut, nil, errOut, nil, errOut, nil, errOut, nil, errOut}, want: true},
		{name: "half of nine is too few to tell", calls: []error{errOut, nil, errOut, nil, errOut, nil, errOut, nil, errOut}},
		{name: "less than half", calls: []error{nil, nil, errOut, nil, nil, errOut, nil, nil, errOut, nil, nil, errOut}},
		{
			name:  "half of ten, but not within ten seconds",
			calls: []error{nil, errOut, nil, errOut, nil, errOut, nil, errOut, nil, errOut}, pause: 2 * time.Second,
		},
		{name: "permanent failures", calls: []error{errPermanent, errPermanent, errPermanent, errPermanent, errPermanent, errPermanent}},
		{name: "attributable failures", calls: []error{errAttributable, errAttributable, errAttributable, errAttributable, errAttributable}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &switched{}
				r := setup(t, Config{Targets: map[string]Target{"A": target}})
				for _, err := range test.calls {
					target.err = err
					deliver(t, r, 1)
					time.Sleep(test.pause)
				}
				if got := target.calls; got != len(test.calls) {
					t.Fatalf("%d calls reached the target, want %d", got, len(test.calls))
				}
				if got := r.Open("A"); got != test.want {
					t.Errorf("open is %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestOpenBreakerLetsOneProbeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &switched{err: errOut}
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		if got := r.NextProbe("A", newJob(1, "A").Record); !got.IsZero() {
			t.Errorf("next probe of a closed breaker is %v, want zero", got)
		}
		deliver(t, r, 5)
		got := deliver(t, r, 20)
		if diff := cmp.Diff(Outcome{Blocked: []string{"A"}}, got); diff != "" {
			t.Errorf("outcome while open (-want +got):\n%s", diff)
		}
		if target.calls != 5 {
			t.Errorf("%d calls reached the target while open, want 0", target.calls-5)
		}

		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		deliver(t, r, 3)
		if target.calls != 6 {
			t.Errorf("%d probes, want 1", target.calls-5)
		}
		if !r.Open("A") {
			t.Error("closed after a failed probe")
		}

		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		deliver(t, r, 3)
		if r.Open("A") || target.calls != 9 {
			t.Errorf("after a good probe: open is %v and %d calls passed, want false and 3", r.Open("A"), target.calls-6)
		}
	})
}

func TestProbeUnderWayHoldsOthersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, down, hang := 0, true, false
		target := targetFunc(func(_ context.Context, parcels []Parcel) []error {
			calls++
			if hang {
				time.Sleep(time.Second)
			}
			if down {
				return fill(len(parcels), errOut)
			}
			return make([]error, len(parcels))
		})
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		deliver(t, r, 5)
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		down, hang = false, true
		go r.Deliver(t.Context(), []*Job{newJob(1, "A")}, nil)
		synctest.Wait()

		if got := deliver(t, r, 3); len(got.Blocked) != 1 || calls != 6 {
			t.Errorf("during the probe: outcome %+v, %d more calls; want blocked and 0", got, calls-6)
		}
		if got := r.NextProbe("A", newJob(1, "A").Record); !got.After(time.Now()) {
			t.Errorf("next probe during a probe is %v from now, want later", time.Until(got))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if r.Open("A") {
			t.Error("open after a good probe")
		}
	})
}

// broken is a sampler that panics as long as it is.
type broken bool

func (b *broken) Sample(LagSample) {
	if *b {
		panic("a fault of the program")
	}
}

// A probe that a fault of the program ends is over: the target is asked again.
func TestProbeThatPanickedIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, sampler := &switched{err: errOut}, new(broken)
		r := setup(t, Config{Targets: map[string]Target{"A": target}, Sampler: sampler})
		deliver(t, r, 5)
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		target.err, *sampler = nil, true
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the probe did not panic")
				}
			}()
			deliver(t, r, 1)
		}()
		*sampler = false
		time.Sleep(time.Hour)
		if got := deliver(t, r, 1); len(got.Acked) != 1 || r.Open("A") {
			t.Errorf("an hour after a probe panicked: outcome %+v, open is %v; want acknowledged and false", got, r.Open("A"))
		}
	})
}

func TestAnyAnswerOfTheTargetClosesTheBreaker(t *testing.T) {
	for name, err := range map[string]error{"acknowledged": nil, "permanent": errPermanent, "own": errOwn} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := &switched{err: errOut}
				r := setup(t, Config{Targets: map[string]Target{"A": target}})
				deliver(t, r, 5)
				time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
				target.err = err
				deliver(t, r, 1)
				if r.Open("A") {
					t.Error("still open")
				}
			})
		})
	}
}

func TestCallsCutByOurStopCountNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := targetFunc(func(ctx context.Context, parcels []Parcel) []error {
			<-ctx.Done()
			return fill(len(parcels), fails(contracts.Outage, "Canceled"))
		})
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			r.Deliver(ctx, []*Job{newJob(i, "A")}, nil)
			cancel()
		}
		if r.Open("A") {
			t.Error("breaker tripped")
		}
		want := []BreakerStatus{{Target: "A", State: "closed"}}
		if diff := cmp.Diff(want, r.Breakers(), cmpopts.IgnoreFields(BreakerStatus{}, "Since")); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

func TestAnswersFromBeforeATripCountNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late time.Duration
		var answer error
		target := targetFunc(func(_ context.Context, parcels []Parcel) []error {
			err := answer
			time.Sleep(late)
			if err == nil {
				return make([]error, len(parcels))
			}
			return fill(len(parcels), err)
		})
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		late, answer = 10*time.Second, errOut
		for i := range 30 {
			go r.Deliver(t.Context(), []*Job{newJob(i, "A")}, nil)
		}
		synctest.Wait()
		late = 0
		deliver(t, r, 5)
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		answer = nil
		deliver(t, r, 1)
		time.Sleep(10 * time.Second) // the thirty fail now
		synctest.Wait()
		answer = errOut
		deliver(t, r, 1)
		if r.Open("A") {
			t.Error("old failures tripped a breaker that had closed since")
		}
	})
}

func TestSubscribersHearEachChangeInOrderAndMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &switched{err: errOut}
		r := setup(t, Config{Targets: map[string]Target{"A": target}})
		type heard struct {
			Target    string
			Open, Now bool
		}
		var got []heard
		r.Subscribe(func(target string, open bool) {
			got = append(got, heard{target, open, r.Open(target)})
		})
		deliver(t, r, 5)
		for range 3 { // failed probes are no news
			time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
			deliver(t, r, 1)
		}
		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		deliver(t, r, 5)
		want := []heard{{"A", true, true}, {"A", false, false}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestChangesArriveInOrderWhenASubscriberCausesTheNext(t *testing.T) {
	var c changes
	c.subscribe(func(target string, _ bool) {
		if target == "first" {
			c.add("second", true)
			c.flush()
		}
	})
	var got []string
	c.subscribe(func(target string, _ bool) { got = append(got, target) })
	c.add("first", true)
	c.flush()
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestBreakerTellsItsStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		reg := prometheus.NewRegistry()
		target := &switched{err: errOut}
		r := setup(t, Config{
			Targets: map[string]Target{"A": target, "B": &switched{}},
			Log:     zap.New(core), Registerer: reg,
		})
		start := time.Now()
		if got := value(t, reg, "relay_breaker_trips_total", "A"); got != 0 {
			t.Errorf("trips start at %v, want 0", got)
		}
		time.Sleep(time.Minute)
		deliver(t, r, 5)
		tripped := time.Now()
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		deliver(t, r, 1)
		want := []BreakerStatus{
			{Target: "A", State: "open", Since: tripped, Reason: "Unavailable", ConsecutiveFailures: 6, Error: errOut.Error()},
			{Target: "B", State: "closed", Since: start},
		}
		if diff := cmp.Diff(want, r.Breakers()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if got := value(t, reg, "relay_breaker_state", "A"); got != 2 {
			t.Errorf("state gauge is %v, want 2", got)
		}
		target.err = nil
		time.Sleep(time.Until(r.NextProbe("A", newJob(1, "A").Record)))
		deliver(t, r, 1)
		if got := value(t, reg, "relay_breaker_state", "A"); got != 0 {
			t.Errorf("state gauge is %v, want 0", got)
		}
		if got := value(t, reg, "relay_breaker_trips_total", "A"); got != 1 {
			t.Errorf("trips are %v, want 1", got)
		}
		var messages []string
		for _, e := range logs.All() {
			messages = append(messages, e.Level.String()+" "+e.Message)
		}
		if got := logs.All()[0].ContextMap()["error"]; got != errOut.Error() {
			t.Errorf("it is out because of %v, want %v", got, errOut)
		}
		wantLogs := []string{"warn breaker opened: target is out", "info breaker closed: target answers again"}
		if diff := cmp.Diff(wantLogs, messages); diff != "" {
			t.Errorf("logs (-want +got):\n%s", diff)
		}
	})
}

// An instance that lost the outboxes of a target that is out never hears of its return: the
// playbook and the console say so.
func TestBreakerWithoutRecordsToProbeWithStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		target := &switched{err: errOut}
		r := setup(t, Config{Targets: map[string]Target{"A": target}, Registerer: reg})
		deliver(t, r, 5)
		target.err = nil
		calls := target.calls
		time.Sleep(24 * time.Hour)
		if got := value(t, reg, "relay_breaker_state", "A"); got != 2 || target.calls != calls {
			t.Errorf("after a day without records the state is %v and %d calls were made, want 2 and none", got, target.calls-calls)
		}
		deliver(t, r, 1)
		if got := value(t, reg, "relay_breaker_state", "A"); got != 0 {
			t.Errorf("after the next record the state is %v, want 0", got)
		}
	})
}

func TestUnknownTargetHasNoBreaker(t *testing.T) {
	r := setup(t, Config{Targets: map[string]Target{"A": &switched{}}})
	if r.Open("Z") || !r.NextProbe("Z", newJob(1, "Z").Record).IsZero() {
		t.Error("an unknown target has a breaker")
	}
}
