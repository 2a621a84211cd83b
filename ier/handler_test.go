package ier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts"
)

// handlerFunc is a handler made of one function.
type handlerFunc func(ctx context.Context, rec *contracts.Record, envelope []byte) error

func (f handlerFunc) Handle(ctx context.Context, rec *contracts.Record, envelope []byte) error {
	return f(ctx, rec, envelope)
}

// handlerRouter has one target, H, made of a handler.
func handlerRouter(t *testing.T, h handlerFunc) *Router {
	t.Helper()
	target, err := NewHandlerTarget(HandlerConfig{Name: "H", Handler: h, Timeout: time.Second, Reason: contracts.ClaimsRefreshFailed})
	if err != nil {
		t.Fatal(err)
	}
	return setup(t, Config{Targets: map[string]Target{"H": target}})
}

func TestHandlerTakesOneRecordAfterTheOther(t *testing.T) {
	acked := Outcome{Acked: []string{"H"}}
	behind := Outcome{Behind: []string{"H"}}
	failed := func(kind contracts.Kind, code string, reason contracts.Reason) Outcome {
		return Outcome{Failed: []TargetFailure{{Target: "H", Kind: kind, Code: code, Reason: reason}}}
	}
	tests := []struct {
		name   string
		second func(ctx context.Context) error // what the handler says of the second of four records
		want   []Outcome
		took   []int64 // versions that the handler was given
	}{
		{
			name: "all acknowledged", second: func(context.Context) error { return nil },
			want: []Outcome{acked, acked, acked, acked}, took: []int64{1, 2, 3, 4},
		},
		{
			name: "a failure leaves the rest behind, and brings its reason",
			second: func(context.Context) error {
				return &contracts.Failure{Kind: contracts.Attributable, Code: "UserNotFound", Reason: contracts.ClaimsRefreshFailed}
			},
			want: []Outcome{acked, failed(contracts.Attributable, "UserNotFound", contracts.ClaimsRefreshFailed), behind, behind}, took: []int64{1, 2},
		},
		{
			name: "an error that knows nothing is the record's own", second: func(context.Context) error { return errors.New("odd") },
			want: []Outcome{acked, failed(contracts.Attributable, "Unknown", ""), behind, behind}, took: []int64{1, 2},
		},
		{
			name: "a panic is the record's own", second: func(context.Context) error { panic("boom") },
			want: []Outcome{acked, failed(contracts.Attributable, codePanic, contracts.ClaimsRefreshFailed), behind, behind}, took: []int64{1, 2},
		},
		{
			name:   "a handler that is cut off is out",
			second: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			want:   []Outcome{acked, failed(contracts.Outage, codeTimeout, contracts.ClaimsRefreshFailed), behind, behind}, took: []int64{1, 2},
		},
		{
			name: "a handler that is cut off and knows why says so",
			second: func(ctx context.Context) error {
				<-ctx.Done()
				return &contracts.Failure{Kind: contracts.Outage, Code: "DeadlineExceeded", Err: ctx.Err()}
			},
			want: []Outcome{acked, failed(contracts.Outage, "DeadlineExceeded", ""), behind, behind}, took: []int64{1, 2},
		},
		{
			name: "what a slow record leaves no time for stays behind",
			second: func(context.Context) error {
				time.Sleep(2 * time.Second)
				return nil
			},
			want: []Outcome{acked, acked, behind, behind}, took: []int64{1, 2},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var took []int64
				r := handlerRouter(t, func(ctx context.Context, rec *contracts.Record, envelope []byte) error {
					took = append(took, rec.AggregateVersion)
					if string(envelope) != "{}" {
						t.Errorf("the handler is given envelope %q", envelope)
					}
					if rec.AggregateVersion == 2 {
						return test.second(ctx)
					}
					return nil
				})
				got := r.Deliver(t.Context(), []*Job{newJob(1, "H"), newJob(2, "H"), newJob(3, "H"), newJob(4, "H")}, nil)
				if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(TargetFailure{}, "At", "Message")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.took, took); diff != "" {
					t.Errorf("records that the handler was given (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A stop ends the record in hand, and begins no further one.
func TestHandlerBeginsNothingAfterAStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	calls := 0
	target, err := NewHandlerTarget(HandlerConfig{Name: "H", Handler: handlerFunc(func(context.Context, *contracts.Record, []byte) error {
		calls++
		stop()
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	parcel := Parcel{Record: &contracts.Record{}, Message: &contracts.Message{}}
	errs := target.Deliver(ctx, []Parcel{parcel, parcel, parcel})
	if errs[0] != nil || !errors.Is(errs[1], ErrBehind) || !errors.Is(errs[2], ErrBehind) || calls != 1 {
		t.Errorf("got %v after %d calls, want one acknowledged and the others behind", errs, calls)
	}
}

func TestHandlerTargetRefusesWhatItCannotBe(t *testing.T) {
	if _, err := NewHandlerTarget(HandlerConfig{Name: "H"}); err == nil {
		t.Error("got a target without a handler")
	}
	if _, err := NewHandlerTarget(HandlerConfig{Name: "H", Handler: handlerFunc(nil), Timeout: -1}); err == nil {
		t.Error("got a target with a negative timeout")
	}
}
