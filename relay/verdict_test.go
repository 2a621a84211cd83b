package relay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// noStore is a Store that nobody may call.
type noStore struct{ Store }

// deaf is a target that nobody may call.
type deaf struct{ ier.Target }

func newTestRelay(t testing.TB) (*Relay, *contracts.Catalog) {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	targets := make(map[string]ier.Target)
	for name := range catalog.Targets {
		targets[name] = deaf{}
	}
	router, err := ier.New(ier.Config{Targets: targets, Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Catalog: catalog, Store: noStore{}, Router: router})
	if err != nil {
		t.Fatal(err)
	}
	return r, catalog
}

// testEntry is a ScheduleAssigned record in memory, for NOTIF_ROUTER and FUNNEL.
func testEntry(t testing.TB, r *Relay, attempts int) *entry {
	t.Helper()
	o := r.newOutbox(contracts.Share{Outbox: "schedOutbox", Of: 1}, always{})
	o.begun.over.Store(true)
	route := o.spec.Route("ScheduleAssigned")
	e := &entry{
		outbox: o, route: route, lane: route.Lane, tier: route.Tier,
		rec: &contracts.Record{Outbox: "schedOutbox", ID: "a", Status: contracts.Pending, Attempts: attempts},
	}
	e.describe(Doc{ID: "a"}, o.intakes[0])
	e.Origin = feed.Searched
	if actions := o.ledger.step(feed.Found{Record: &e.Record}); len(actions) != 1 || actions[0].Do != feed.Submit {
		t.Fatalf("not taken: %v", actions)
	}
	o.ledger.step(feed.Batch{Feed: o.intakes[0].feed, Reach: feed.Live})
	return e
}

// shutFunnel has a record of another aggregate probe for FUNNEL, and for whatever e
// misses besides if all is said.
func shutFunnel(t testing.TB, e *entry, targets ...string) {
	t.Helper()
	rec := *e.rec
	rec.ID, rec.AggregateID = "another", "another"
	probe := &entry{outbox: e.outbox, route: e.route, lane: e.lane, tier: e.tier, rec: &rec}
	probe.describe(Doc{ID: "another"}, e.outbox.intakes[0])
	probe.Origin = feed.Searched
	e.outbox.ledger.step(feed.Found{Record: &probe.Record})
	tried := feed.Tried{Record: &probe.Record, Then: feed.Parks, Blocked: append(targets, "FUNNEL")}
	if got := e.outbox.ledger.becomes(tried).Do; got != feed.Probe {
		t.Fatalf("the other record becomes %d, want it to probe", got)
	}
}

func failed(kind contracts.Kind) []ier.TargetFailure {
	return []ier.TargetFailure{{Target: "FUNNEL", Kind: kind, Code: "Some", Message: "some"}}
}

func TestConclude(t *testing.T) {
	acked := []string{"NOTIF_ROUTER"}
	tests := []struct {
		name     string
		attempts int // before
		outages  int // in a row before
		out      ier.Outcome
		cut      bool // by our own stop
		action   lanes.Action
		settled  settleKind // "": nothing is written
		after    int        // attempts
	}{
		{name: "all acknowledged", out: ier.Outcome{Acked: []string{"NOTIF_ROUTER", "FUNNEL"}}, action: lanes.Done, settled: settleDelivered},
		{name: "first failure", out: ier.Outcome{Acked: acked, Failed: failed(contracts.Attributable)}, action: lanes.Retry, settled: settleRetry, after: 1},
		{name: "third failure", attempts: 2, out: ier.Outcome{Acked: acked, Failed: failed(contracts.Attributable)}, action: lanes.Drop, settled: settleDead, after: 3},
		{name: "permanent failure", out: ier.Outcome{Acked: acked, Failed: failed(contracts.Permanent)}, action: lanes.Drop, settled: settleDead, after: 1},
		{name: "outage", out: ier.Outcome{Acked: acked, Failed: failed(contracts.Outage)}, action: lanes.Retry},
		{name: "outage at a target that answers all others", outages: 10, out: ier.Outcome{Acked: acked, Failed: failed(contracts.Outage)}, action: lanes.Retry, settled: settleRetry, after: 1},
		{name: "failure that our own stop caused", attempts: 2, cut: true, out: ier.Outcome{Acked: acked, Failed: failed(contracts.Attributable)}, action: lanes.Retry, after: 2},
		{name: "blocked, and the first to be", out: ier.Outcome{Acked: acked, Blocked: []string{"FUNNEL"}}, action: lanes.Retry},
		{name: "behind an older record", out: ier.Outcome{Acked: acked, Behind: []string{"FUNNEL"}}, action: lanes.Again},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, _ := newTestRelay(t)
			e := testEntry(t, r, test.attempts)
			e.outages = test.outages
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.cut {
				cancel(errors.New("stop"))
			}
			verdict := r.conclude(ctx, e, test.out, nil)
			var settled settleKind
			if q := r.settlers[e.lane].queue; len(q) > 0 {
				settled = q[0].kind
			}
			if verdict.Action != test.action || settled != test.settled || e.rec.Attempts != test.after {
				t.Errorf("got action %v, settlement %q, %d attempts; want %v, %q, %d",
					verdict.Action, settled, e.rec.Attempts, test.action, test.settled, test.after)
			}
			if want := append([]string{}, test.out.Acked...); !cmp.Equal(e.rec.DeliveredTargets, want) {
				t.Errorf("got delivered targets %v, want %v", e.rec.DeliveredTargets, want)
			}
		})
	}
}

// A record that comes back to its lane as its outbox is given back begins no delivery
// again, which might outlast the hand-over: what it reached is written.
func TestNoDeliveryBeginsAsAnOutboxIsGivenBack(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.rec.DeliveredTargets, e.unsaved = []string{"FUNNEL"}, true
	e.outbox.retires.Store(true)
	if v := r.deliver(t.Context(), []*lanes.Task{{Work: e}}); v[0].Action != lanes.Drop {
		t.Errorf("the verdict is %v, want that it leaves its lane", v[0].Action)
	}
	if q := r.settlers[e.lane].queue; len(q) != 1 || q[0].kind != settleProgress {
		t.Errorf("%d settlements are made, want that its progress is written", len(q))
	}
}

// A run ends before a record whose wait from before a restart is not over.
func TestDeliverHonoursAWaitFromBefore(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 1)
	e.wait = time.Now().Add(time.Hour)
	later := *e
	verdicts := r.deliver(t.Context(), []*lanes.Task{{Work: e}, {Work: &later}})
	want := []lanes.Verdict{{Action: lanes.Retry, At: e.wait}, {Action: lanes.Again}}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Errorf("verdicts (want -, got +):\n%s", diff)
	}
}

// Before a new owner has looked at what is in backoff behind each first page,
// every run waits: TestLateRetryMarkOfTheOwnerBefore shows what for, where the
// machine is slow enough.
func TestDeliverWaitsForTheBeginning(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.outbox.begun = newBeginning(1, time.Time{}, 0)
	verdicts := r.deliver(t.Context(), []*lanes.Task{{Work: e}, {Work: e}})
	if v := verdicts[0]; v.Action != lanes.Retry || v.On != e.outbox.beginLabel() || verdicts[1].Action != lanes.Again {
		t.Errorf("got %+v, want the run to wait for the beginning", verdicts)
	}
}

// What an older record of a run waits for at a target, later ones wait for too, also
// where no gate stands before the later one: a stray has none.
func TestARunWithholdsWhatItsOlderRecordsWaitFor(t *testing.T) {
	r, _ := newTestRelay(t)
	older := testEntry(t, r, 0)
	rec := *older.rec
	rec.ID, rec.AggregateVersion = "b", 1
	stray := &entry{outbox: older.outbox, route: older.route, lane: older.lane, tier: older.tier, rec: &rec}
	stray.describe(Doc{ID: "b"}, nil)
	older.outbox.ledger.step(feed.Found{Record: &stray.Record})
	shutFunnel(t, older)
	var withheld []string
	for _, e := range []*entry{older, stray} {
		job, _, verdict := r.begin(t.Context(), &lanes.Task{Work: e}, &withheld)
		if job == nil || !cmp.Equal(job.Targets, []string{"NOTIF_ROUTER"}) {
			t.Errorf("record %s goes out as %+v, %v, want to NOTIF_ROUTER alone", e.ID, job, verdict)
		}
	}
}

// never is the grant of a lease that lapsed.
type never struct{}

func (never) Valid() bool { return false }

func (never) Ended() bool { return true }

func (never) Since() time.Time    { return time.Time{} }
func (never) Idle() time.Duration { return 0 }

// Without the lease of its outbox a replay begins no more than a record does.
func TestNothingBeginsWithoutTheLease(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.outbox.grant = never{}
	r.shares.add(e.outbox)
	p := &replay{
		item: &dlq.Item{ID: "a"}, rec: e.rec, share: e.outbox.share, lane: e.lane, targets: []string{"FUNNEL"}, done: make(chan struct{}),
	}
	for _, work := range []any{e, p} {
		var withheld []string
		if job, _, verdict := r.begin(t.Context(), &lanes.Task{Work: work}, &withheld); job != nil || verdict.Action != lanes.Retry {
			t.Errorf("%T: goes out as %+v, %v, want it to wait", work, job, verdict)
		}
	}
}

// While a dead letter that freezes the aggregate is on its way, its records wait
// in their lane, until it is known what became of that.
func TestRecordsWaitForAFreezeThatIsOnItsWay(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	e.AggregateID = "a-1"
	e.outbox.stand("a-1", feed.Dying)
	verdicts := r.deliver(t.Context(), []*lanes.Task{{Work: e}})
	if v := verdicts[0]; v.Action != lanes.Retry || v.On != freezeLabel("a-1") {
		t.Errorf("got %+v, want it to wait for the freeze", v)
	}
}
