package relay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// recorder is a target that takes everything and remembers the versions.
type recorder struct {
	ier.Target
	mu       sync.Mutex
	versions []int64
}

func (r *recorder) Deliver(_ context.Context, parcels []ier.Parcel) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range parcels {
		r.versions = append(r.versions, p.Record.AggregateVersion)
	}
	return make([]error, len(parcels))
}

// asked calls then before the n-th time that it is asked.
type asked struct {
	n    int
	then func()
}

func (*asked) Ended() bool { return false }

func (*asked) Since() time.Time    { return time.Time{} }
func (*asked) Idle() time.Duration { return 0 }

func (a *asked) Valid() bool {
	if a.n--; a.n == 0 {
		a.then()
	}
	return true
}

// A gate may open while a run is being divided: what an older record of the run
// could not be delivered to, a younger one waits for too.
func TestAGateThatOpensWithinARunLetsNothingOvertake(t *testing.T) {
	r, catalog := newTestRelay(t)
	funnel, other := &recorder{}, &recorder{}
	targets := make(map[string]ier.Target)
	for name := range catalog.Targets {
		targets[name] = other
	}
	targets["FUNNEL"] = funnel
	var err error
	if r.router, err = ier.New(ier.Config{Targets: targets, Catalog: catalog}); err != nil {
		t.Fatal(err)
	}
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	o.begun.over.Store(true)
	in := o.intakes[0]
	route := o.spec.Route("ScheduleAssigned") // to FUNNEL and NOTIF_ROUTER
	entryOf := func(aggregate string, version, place int64) *entry {
		e := &entry{
			outbox: o, route: route, lane: route.Lane, tier: route.Tier,
			rec: &contracts.Record{
				Outbox: "schedOutbox", ID: fmt.Sprint(aggregate, version), EventType: "ScheduleAssigned",
				AggregateID: aggregate, AggregateVersion: version, Status: contracts.Pending,
			},
		}
		e.describe(Doc{ID: e.rec.ID, CreatedAt: at(place)}, in)
		if taken := in.take(o, feed.Batch{Feed: in.feed, Records: []*feed.Record{&e.Record}}); taken.Stopped != feed.StoppedSubmit {
			t.Fatalf("not taken: %+v", taken)
		}
		in.take(o, feed.Batch{Feed: in.feed, UpTo: e.Position()})
		return e
	}
	one, two := entryOf("a", 1, 1), entryOf("a", 2, 2)
	holder := entryOf("b", 1, 3)
	o.ledger.step(feed.Tried{Record: &holder.Record, Then: feed.Parks, Blocked: []string{"FUNNEL"}})
	o.grant = &asked{2, func() { // between the two of the run
		o.ledger.step(feed.Tried{Record: &holder.Record, Acked: []string{"FUNNEL"}, Then: feed.Retries})
	}}

	r.deliver(t.Context(), []*lanes.Task{&one.task, &two.task})
	if len(funnel.versions) > 0 {
		t.Errorf("FUNNEL got versions %v, and version 1 was not delivered there", funnel.versions)
	}
	if want := []int64{1, 2}; !slices.Equal(other.versions, want) {
		t.Errorf("the other target got versions %v, want %v", other.versions, want)
	}
}
