package ier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

func catalog() *contracts.Catalog {
	return &contracts.Catalog{
		Targets: map[string]contracts.TargetSpec{"A": {Name: "A"}},
		Outboxes: []*contracts.Outbox{{Name: "accOutbox", Events: []*contracts.EventRoute{
			{Type: "RoleChanged", Lane: contracts.CriticalLane, Targets: []string{"A"}},
			{Type: "Wallet*", Lane: contracts.CriticalLane, Targets: []string{"A"}},
		}}},
	}
}

func TestEveryAttemptYieldsOneSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples := &collector{}
		slow := targetFunc(func(_ context.Context, parcels []Parcel) []error {
			time.Sleep(30 * time.Millisecond)
			return append([]error{nil}, fill(len(parcels)-1, errOut)...)
		})
		r := setup(t, Config{Targets: map[string]Target{"A": slow}, Sampler: samples})
		run := []*Job{newJob(1, "A"), newJob(2, "A"), newJob(3, "A")}
		for _, job := range run {
			job.Attempt = 2
			job.Waits = Waits{Firestore: 40 * time.Millisecond, Lane: 10 * time.Millisecond, Backoff: 20 * time.Millisecond}
			job.Record.CreatedAt = time.Now().Add(-70 * time.Millisecond)
		}
		r.Deliver(t.Context(), run, nil)
		sample := LagSample{
			At: time.Now(), Outbox: "accOutbox", Lane: contracts.CriticalLane, EventType: "RoleChanged",
			Target: "A", Attempt: 2, Outcome: "acked",
			LagMs: 100, FirestoreMs: 40, LaneMs: 10, DeliveryMs: 30, BackoffMs: 20,
			TraceID: "trace-event-1", EventID: "event-1",
		}
		second := sample
		second.Outcome, second.Code, second.TraceID, second.EventID = "outage", "Unavailable", "trace-event-2", "event-2"
		// The third stayed behind: no attempt, no sample.
		if diff := cmp.Diff([]LagSample{sample, second}, samples.samples); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
	})
}

// A replay's lag counts the time in the dead-letter queue: it is marked, and
// kept out of the figures of the lane.
func TestReplaysAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples, reg := &collector{}, prometheus.NewRegistry()
		ok := targetFunc(func(_ context.Context, parcels []Parcel) []error { return make([]error, len(parcels)) })
		r := setup(t, Config{Targets: map[string]Target{"A": ok}, Sampler: samples, Registerer: reg, Catalog: catalog()})
		live, replay := newJob(1, "A"), newJob(2, "A")
		replay.Replay = "dead-letter"
		replay.Record.CreatedAt = time.Now().Add(-time.Hour)
		r.Deliver(t.Context(), []*Job{live, replay}, nil)
		var marks []bool
		for _, s := range samples.samples {
			marks = append(marks, s.Replay)
		}
		if diff := cmp.Diff([]bool{false, true}, marks); diff != "" {
			t.Errorf("marks (-want +got):\n%s", diff)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]uint64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				got[family.GetName()] += m.GetHistogram().GetSampleCount()
			}
		}
		if got["relay_lag_seconds"] != 1 || got["relay_replay_lag_seconds"] != 1 {
			t.Errorf("got %d lags and %d lags of replays, want 1 of each", got["relay_lag_seconds"], got["relay_replay_lag_seconds"])
		}
	})
}

func TestBlockedRecordsYieldNoSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples, reg := &collector{}, prometheus.NewRegistry()
		r := setup(t, Config{Targets: map[string]Target{"A": &switched{err: errOut}}, Sampler: samples, Registerer: reg})
		deliver(t, r, 12)
		if got := len(samples.samples); got != 5 {
			t.Errorf("%d samples of 12 records, want 5", got)
		}
		if got := value(t, reg, "relay_delivery_blocked_total", "A"); got != 7 {
			t.Errorf("%v blocked, want 7", got)
		}
	})
}

func TestLagIsNeverNegativeAndNeverFromTheYearOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		samples := &collector{}
		r := setup(t, Config{Targets: map[string]Target{"A": &switched{}}, Sampler: samples})
		ahead, unknown := newJob(1, "A"), newJob(2, "A")
		ahead.Record.CreatedAt = time.Now().Add(time.Second)
		unknown.Record.CreatedAt = time.Time{}
		unknown.Waits.Lane = 5 * time.Millisecond
		r.Deliver(t.Context(), []*Job{ahead, unknown}, nil)
		got := []int64{samples.samples[0].LagMs, samples.samples[1].LagMs}
		if diff := cmp.Diff([]int64{0, 5}, got); diff != "" {
			t.Errorf("lags (-want +got):\n%s", diff)
		}
	})
}

func TestMetricsAreBoundedByTheCatalog(t *testing.T) {
	reg := prometheus.NewRegistry()
	r := setup(t, Config{Targets: map[string]Target{"A": &switched{}}, Catalog: catalog(), Registerer: reg})
	for _, name := range []string{"relay_lag_seconds", "relay_delivery_attempts_total"} {
		for _, outcome := range []string{"acked", "attributable", "permanent", "outage"} {
			if got := value(t, reg, name, "accOutbox", "A", outcome); got != 0 {
				t.Errorf("%s of %s starts at %v, want 0", name, outcome, got)
			}
		}
	}
	for i, eventType := range []string{"RoleChanged", "WalletDeducted", "WalletCredited", "Invented-1", "Invented-2"} {
		job := newJob(i, "A")
		job.Record.EventType = eventType
		r.Deliver(t.Context(), []*Job{job}, nil)
	}
	stranger := newJob(9, "A")
	stranger.Record.Outbox = "strangeOutbox"
	r.Deliver(t.Context(), []*Job{stranger}, nil)

	for label, want := range map[string]float64{"RoleChanged": 1, "Wallet*": 2, "other": 3} {
		if got := value(t, reg, "relay_delivery_attempts_total", label, "acked"); got != want {
			t.Errorf("attempts of %s are %v, want %v", label, got, want)
		}
	}
	if got := value(t, reg, "relay_lag_seconds", "CRITICAL_LANE", "A", "acked"); got != 6 {
		t.Errorf("lag was observed %v times, want 6", got)
	}
	if got := value(t, reg, "relay_lag_stage_seconds", "CRITICAL_LANE", "delivery"); got != 6 {
		t.Errorf("stage was observed %v times, want 6", got)
	}
}
