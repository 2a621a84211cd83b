package relay_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
)

// canaries lists the canaries that stand in the outboxes.
func (f *fixture) canaries() []string {
	f.t.Helper()
	var out []string
	for _, o := range f.catalog.Outboxes {
		docs, err := f.db.Collection(o.Name).Documents(f.ctx).GetAll()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range docs {
			if strings.HasPrefix(d.Ref.ID, "!") {
				out = append(out, o.Name+"/"+d.Ref.ID)
			}
		}
	}
	return out
}

// untouched waits until no touch of a canary is on its way, of a relay that makes
// one each hour: a stop gives up those that are, and the server may apply one of
// them after the canary was removed.
func (r *running) untouched() {
	r.f.t.Helper()
	r.alive()
}

func TestStopFinishesWhatIsInDelivery(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.CanaryInterval = time.Hour // see untouched
	inDelivery, release := make(chan struct{}, 100), make(chan struct{})
	f.script(func(ctx context.Context, _ string, r *contracts.Record) error {
		if r.AggregateVersion == 1 {
			inDelivery <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	})
	r := f.run()
	r.untouched()
	records := f.records("wsOutbox", 40, 4)
	f.append(records, 10)
	for range 4 {
		<-inDelivery
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	f.eventually("the relay stops", func() bool { return r.relay.Health().Stopping })
	select {
	case <-stopped:
		t.Error("the stop did not wait for what is in delivery")
	default:
	}
	if r.relay.Health().Ready {
		t.Error("got ready while stopping")
	}
	close(release)
	<-stopped
	first := slices.DeleteFunc(slices.Clone(records), func(r *contracts.Record) bool { return r.AggregateVersion > 1 })
	if n := f.unmarked(first, contracts.Delivered); n > 0 {
		t.Errorf("%d records that were in delivery are not marked", n)
	}
	if left := f.canaries(); len(left) > 0 {
		t.Errorf("canaries are left: %v", left)
	}
	f.run()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("after the restart: got %+v, want every record once and in order", got)
	}
}

func TestRestartsUnderLoadDeliverNothingTwice(t *testing.T) {
	f := setup(t, newCloud(t))
	r := f.run()
	var all []*contracts.Record
	for round := range 4 {
		records := f.records([]string{"wsOutbox", "tagOutbox", "schedOutbox", "accOutbox"}[round], 150, 5)
		f.append(records, 15)
		all = append(all, records...)
		r.stop()
		r = f.run()
	}
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// A stop comes to its end whatever is out: what could not be finished stays.
func TestStopEndsDuringAnOutage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		down func(f *fixture) (mend func())
	}{
		{"Pub/Sub hangs", func(f *fixture) func() { return f.breaks(localpubsub.Fault{Delay: time.Hour}) }},
		{"Pub/Sub is unavailable", func(f *fixture) func() { return f.breaks(localpubsub.Fault{Code: codes.Unavailable}) }},
		{"Firestore hangs", func(f *fixture) func() {
			return f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Stall: true})
		}},
		{"Firestore is unavailable", func(f *fixture) func() {
			return f.cloud.embedded.Faults().Add(localfirestore.Fault{Code: codes.Unavailable})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.StopBudget = time.Second
			f.publish.Timeout = time.Second
			r := f.run()
			r.alive()
			records := f.records("wsOutbox", 60, 6)
			f.append(records, 10)
			mend := test.down(f)
			r.stop()
			mend()
			f.run()
			f.eventually("nothing is lost", func() bool { return f.judge(records).missing == 0 })
			if got := f.judge(records); got.disordered > 0 {
				t.Errorf("got %+v, want every record in order", got)
			}
		})
	}
}
