package ier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestDeliverSortsAnswersIntoOutcomes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	answers := func(errs ...error) targetFunc {
		return func(context.Context, []Parcel) []error { return errs }
	}
	broken := fails(contracts.Permanent, "InvalidArgument")
	tests := []struct {
		name    string
		targets map[string]Target
		run     []*Job
		want    []Outcome
	}{
		{
			name:    "all acknowledged",
			targets: map[string]Target{"A": answers(nil), "B": answers(nil)},
			run:     []*Job{newJob(1, "A", "B")},
			want:    []Outcome{{Acked: []string{"A", "B"}}},
		},
		{
			name:    "one target fails, the other does not",
			targets: map[string]Target{"A": answers(broken), "B": answers(nil)},
			run:     []*Job{newJob(1, "A", "B")},
			want: []Outcome{{
				Acked: []string{"B"},
				Failed: []TargetFailure{{
					Target: "A", Kind: contracts.Permanent, Code: "InvalidArgument",
					Message: "scripted", At: at,
				}},
			}},
		},
		{
			name:    "later records stay behind a failed one at that target only",
			targets: map[string]Target{"A": answers(nil, broken, ErrBehind), "B": answers(nil)},
			run:     []*Job{newJob(1, "A"), newJob(2, "A"), newJob(3, "A", "B")},
			want: []Outcome{
				{Acked: []string{"A"}},
				{Failed: []TargetFailure{{
					Target: "A", Kind: contracts.Permanent, Code: "InvalidArgument",
					Message: "scripted", At: at,
				}}},
				{Acked: []string{"B"}, Behind: []string{"A"}},
			},
		},
		{
			name:    "a target gets the records that miss it and no others",
			targets: map[string]Target{"A": answers(nil, nil), "B": answers(nil)},
			run:     []*Job{newJob(1, "A"), newJob(2, "B"), newJob(3, "A")},
			want:    []Outcome{{Acked: []string{"A"}}, {Acked: []string{"B"}}, {Acked: []string{"A"}}},
		},
		{
			name:    "an error that knows no kind is attributable",
			targets: map[string]Target{"A": answers(errors.New("odd"))},
			run:     []*Job{newJob(1, "A")},
			want: []Outcome{{Failed: []TargetFailure{{
				Target: "A", Kind: contracts.Attributable, Code: "Unknown",
				Message: "odd", At: at,
			}}}},
		},
		{
			name:    "a target that panics fails the oldest record",
			targets: map[string]Target{"A": targetFunc(func(context.Context, []Parcel) []error { panic("boom") })},
			run:     []*Job{newJob(1, "A"), newJob(2, "A")},
			want: []Outcome{
				{Failed: []TargetFailure{{
					Target: "A", Kind: contracts.Attributable, Code: "Panic",
					Message: "call target A: panic: string", At: at,
				}}},
				{Behind: []string{"A"}},
			},
		},
		{
			name:    "a target that answers too little fails the oldest record",
			targets: map[string]Target{"A": answers(nil)},
			run:     []*Job{newJob(1, "A"), newJob(2, "A")},
			want: []Outcome{
				{Failed: []TargetFailure{{
					Target: "A", Kind: contracts.Attributable, Code: "NoAnswer",
					Message: "call target A: 1 answers for 2 records", At: at,
				}}},
				{Behind: []string{"A"}},
			},
		},
		{
			name:    "a target that is not configured waits as in an outage",
			targets: map[string]Target{"A": answers(nil)},
			run:     []*Job{newJob(1, "Z")},
			want: []Outcome{{Failed: []TargetFailure{{
				Target: "Z", Kind: contracts.Outage, Code: "NoTarget",
				Message: "find target Z: not configured", At: at,
			}}}},
		},
		{
			name:    "a target named twice is served once",
			targets: map[string]Target{"A": answers(nil)},
			run:     []*Job{newJob(1, "A", "A")},
			want:    []Outcome{{Acked: []string{"A"}}},
		},
		{name: "an empty run", targets: map[string]Target{"A": answers(nil)}, run: nil, want: []Outcome{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := setup(t, Config{Targets: test.targets, Now: func() time.Time { return at }})
			got := r.Deliver(t.Context(), test.run, nil)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargetsAreServedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := targetFunc(func(_ context.Context, parcels []Parcel) []error {
			time.Sleep(time.Second)
			return make([]error, len(parcels))
		})
		r := setup(t, Config{Targets: map[string]Target{"A": slow, "B": slow, "C": slow}})
		start := time.Now()
		r.Deliver(t.Context(), []*Job{newJob(1, "A", "B", "C")}, nil)
		if got := time.Since(start); got != time.Second {
			t.Errorf("three targets of a second each took %v, want 1s", got)
		}
	})
}

func TestParcelCarriesTheMessageOfItsTarget(t *testing.T) {
	var got Parcel
	r := setup(t, Config{Targets: map[string]Target{"A": targetFunc(func(_ context.Context, parcels []Parcel) []error {
		got = parcels[0]
		return []error{nil}
	})}})
	job := newJob(7, "A")
	job.Data, job.Replay, job.Lane = []byte(`{"payload":1}`), "dead-1", contracts.BackgroundLane
	r.Deliver(t.Context(), []*Job{job}, nil)

	want := Parcel{Record: job.Record, Lane: contracts.BackgroundLane, Message: &contracts.Message{
		Data: job.Data, OrderingKey: "account-1",
		Attributes: map[string]string{
			"eventId": "event-7", "eventType": "RoleChanged", "eventVersion": "1",
			"aggregateId": "account-1", "aggregateVersion": "7", "idempotencyKey": "event-7:account-1:7",
			"traceId": "trace-event-7", "lane": "BACKGROUND_LANE", "outbox": "accOutbox",
			"target": "A", "producer": "", "replay": "dead-1",
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parcel (-want +got):\n%s", diff)
	}
}

func TestNothingIsAttemptedOnceTheContextHasEnded(t *testing.T) {
	target := &scripted{answer: acks}
	r := setup(t, Config{Targets: map[string]Target{"A": target}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := r.Deliver(ctx, []*Job{newJob(1, "A")}, nil)
	if diff := cmp.Diff([]Outcome{{Blocked: []string{"A"}}}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if target.calls != 0 {
		t.Errorf("target was called %d times, want 0", target.calls)
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := New(Config{
		Targets: map[string]Target{"A": nil},
		Catalog: &contracts.Catalog{Targets: map[string]contracts.TargetSpec{"B": {Name: "B"}}},
		Breaker: BreakerConfig{Ratio: 2, OpenFor: -1, Window: time.Millisecond, Consecutive: -1, MinCalls: -1},
	})
	if err == nil {
		t.Fatal("New accepted a broken configuration")
	}
	for _, want := range []string{"target A is nil", "target B of the catalog", "ratio", "open time", "window", "consecutive", "minimum"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not name %q:\n%v", want, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New accepted a router without targets")
	}
}
