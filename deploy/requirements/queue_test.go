package requirements_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/trace"
)

// everyFilter returns filters that together have each condition alone, all
// pairs that an operator may think of, and all at once.
func everyFilter() []dlq.Filter {
	all := dlq.Filter{
		EventID: "e", EventType: "RoleChanged", TraceID: "t", AggregateID: "a", Tier: contracts.SecurityBlock, State: contracts.DeadBlocked,
		Outbox: "accOutbox", Lane: contracts.CriticalLane, Reason: contracts.AttemptsExhausted, Group: "g", Consumer: "c", Open: new(true),
		From: time.Unix(1, 0), To: time.Unix(2, 0),
	}
	filters := []dlq.Filter{{}, all}
	take := []func(*dlq.Filter){
		func(f *dlq.Filter) { f.EventID = all.EventID },
		func(f *dlq.Filter) { f.EventType = all.EventType },
		func(f *dlq.Filter) { f.TraceID = all.TraceID },
		func(f *dlq.Filter) { f.AggregateID = all.AggregateID },
		func(f *dlq.Filter) { f.Tier = all.Tier },
		func(f *dlq.Filter) { f.State = all.State },
		func(f *dlq.Filter) { f.Outbox = all.Outbox },
		func(f *dlq.Filter) { f.Lane = all.Lane },
		func(f *dlq.Filter) { f.Reason = all.Reason },
		func(f *dlq.Filter) { f.Group = all.Group },
		func(f *dlq.Filter) { f.Consumer = all.Consumer },
		func(f *dlq.Filter) { f.Open = all.Open },
		func(f *dlq.Filter) { f.From, f.To = all.From, all.To },
	}
	for n := range take {
		for m := range n + 1 {
			var f dlq.Filter
			take[n](&f)
			take[m](&f)
			filters = append(filters, f)
		}
	}
	return filters
}

// askQueue makes every query that the dead-letter queue makes when it is asked.
func askQueue(t *testing.T, store dlq.Store, queue *dlq.Queue, catalog *contracts.Catalog) {
	t.Helper()
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	item := &dlq.Item{
		ID: "e:a:2", Tier: contracts.SecurityBlock, State: contracts.DeadAuthorized, Outbox: "accOutbox", EventType: "RoleChanged", TraceID: "t",
		AggregateID: "a", AggregateVersion: 2, DeadAt: time.Unix(1, 0), RecordPath: "accOutbox/e:a:2",
		EventID: "e", Lane: contracts.CriticalLane, Reason: contracts.AttemptsExhausted,
	}
	second := *item
	second.ID, second.Consumer = "e:a:3", "c"
	third := second
	third.ID = "e:a:4"
	beside := third
	beside.ID, beside.AggregateID, beside.AggregateVersion = "e:b:1", "b", 1
	for _, i := range []*dlq.Item{item, &second, &third, &beside} { // two of a group, so that it is asked for both ends, and two of a consumer
		_, err := store.Commit(ctx, i.Burial(false))
		must("bury", err)
	}
	for _, f := range everyFilter() {
		_, err := queue.List(ctx, f, dlq.Page{})
		must("list", err)
		f.Group = item.Group
		_, err = queue.List(ctx, f, dlq.Page{})
		must("list", err)
		if f.State == "" && f.Open == nil {
			f.Open = new(true)
		}
		_, err = queue.Groups(ctx, f, dlq.Page{})
		must("groups", err)
		f.Group = ""
		_, err = queue.Groups(ctx, f, dlq.Page{})
		must("groups", err)
		first, err := queue.List(ctx, f, dlq.Page{Limit: 1})
		must("first page", err)
		if first.Next != "" {
			_, err = queue.List(ctx, f, dlq.Page{Limit: 1, Token: first.Next})
			must("second page", err)
		}
	}
	for _, f := range []dlq.AuditFilter{
		{},
		{Actor: "x"},
		{Action: "x"},
		{On: "x"},
		{TraceID: "x"},
		{Subject: dlq.SubjectLane},
		{From: time.Unix(1, 0), To: time.Unix(2, 0)},
		{Actor: "x", Action: "x", On: "x", TraceID: "x", Subject: dlq.SubjectLane, From: time.Unix(1, 0)},
	} {
		_, err := queue.Audit(ctx, f, dlq.Page{})
		must("audit", err)
	}
	for _, tier := range contracts.Tiers() {
		_, err := queue.Due(ctx, tier, []string{"accOutbox", "orgOutbox"}, dlq.DueAfter{}, 10)
		must("due", err)
		_, err = queue.Due(ctx, tier, []string{"accOutbox", "orgOutbox"}, dlq.DueAfter{At: time.Unix(1, 0), ID: "e"}, 10)
		must("due behind another", err)
		_, err = queue.Asked(ctx, tier, []string{"accOutbox", "orgOutbox"}, time.Time{}, 10)
		must("asked for", err)
	}
	security := dlq.Actor{Name: "sara", Role: dlq.Security}
	_, err := queue.Freezes(ctx, dlq.Page{})
	must("freezes", err)
	_, err = queue.Decide(ctx, item.ID, dlq.Decide{Action: dlq.Replay, Actor: security, Reason: "because"})
	must("replay", err)
	_, err = queue.Older(ctx, item)
	must("older", err)
	behind := beside
	behind.Consumer, behind.AggregateVersion = "d", 2
	_, err = queue.Before(ctx, &behind)
	must("older beside another consumer's", err)
	_, err = queue.Release(ctx, "a", dlq.Release{Actor: security, Reason: "because"})
	must("release", err)
	traces := trace.New(store, queue, catalog)
	timeline, err := traces.Trace(ctx, "t")
	must("trace", err)
	if timeline == nil || len(timeline.Freezes) != 1 {
		t.Errorf("trace found %+v, want a freeze", timeline)
	}
	_, err = queue.LaneControls(ctx)
	must("lanes", err)
	_, err = queue.Count(ctx)
	must("counts", err)
	_, err = queue.Select(ctx, dlq.Filter{Outbox: "wsOutbox"})
	must("select", err)
	_, err = queue.Bulks(ctx, dlq.Page{})
	must("bulk replays", err)
	for _, f := range []trace.RecordFilter{{EventID: "e"}, {AggregateID: "a"}} {
		_, err = traces.Records(ctx, f)
		must("records", err)
	}
	_, err = queue.Timed(ctx, []string{"accOutbox"}, 10)
	must("timed", err)
	outboxes, err := queue.Outboxes(ctx)
	must("outboxes", err)
	_, err = queue.Held(ctx, outboxes, "a")
	must("held", err)
	_, err = queue.Overtaken(ctx, "a")
	must("overtaken", err)
	_, _, err = queue.FreezesAfter(ctx, "f")
	must("freezes after one", err)
	_, err = queue.Order(ctx, item)
	must("order", err)
	_, _, err = queue.Matching(ctx, dlq.Filter{Tier: contracts.SafeAuto})
	must("matching", err)
}

// noLanes is a relay that owns nothing.
type noLanes struct{ replayer.Lanes }

func (noLanes) Owned() []string { return nil }

type noAlerts struct{}

func (noAlerts) Publish(context.Context, []byte, map[string]string) error { return nil }

// runSiblings runs what the relay runs beside itself until each of its own
// collections was looked through.
func runSiblings(t *testing.T, queue *dlq.Queue, asked *recorder) {
	t.Helper()
	freezer, err := dlqtest.Freezer(queue, noLanes{}, noAlerts{}, dlqtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	review, err := dlqtest.Review(queue, noLanes{}, dlqtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- freezer.Run(ctx) }() // both end with ctx
	go func() { ended <- review.Run(ctx) }()
	defer func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("sibling: %v", err)
			}
		}
	}()
	want := []string{contracts.CollectionErrorLog, contracts.CollectionFrozen, contracts.CollectionReplays}
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for {
		looked := asked.filtered()
		want = slices.DeleteFunc(want, func(c string) bool { return slices.Contains(looked, c) })
		if len(want) == 0 {
			return
		}
		select {
		case <-asked.news:
		case <-deadline.C:
			t.Fatalf("nothing looked through %s", strings.Join(want, ", "))
		}
	}
}
