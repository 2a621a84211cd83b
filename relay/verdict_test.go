package relay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/ier"
	"outboxrelay/lanes"
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
	var o *outbox
	for _, each := range r.outboxes {
		if each.spec.Name == "schedOutbox" {
			o = each
		}
	}
	route := o.spec.Route("ScheduleAssigned")
	e := &entry{
		outbox: o, feed: o.feeds[0], route: route, lane: route.Lane, tier: route.Tier,
		doc: Doc{ID: "a", Raw: func() map[string]any { return nil }},
		rec: &contracts.Record{Outbox: "schedOutbox", ID: "a", Status: contracts.Pending, Attempts: attempts},
	}
	if !o.ledger.admitStray(e) {
		t.Fatal("not admitted")
	}
	return e
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
