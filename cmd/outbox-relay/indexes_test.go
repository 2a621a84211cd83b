package main

import (
	"encoding/json"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

func TestCatalogIndexes(t *testing.T) {
	printed := runProgram(t, nil, "", "catalog", "indexes")
	var got firestoreIndexes
	if err := json.Unmarshal([]byte(printed.stdout), &got); err != nil {
		t.Fatal(err)
	}
	byCollection := make(map[string]int)
	for _, index := range got.Indexes {
		byCollection[index.CollectionGroup]++
	}
	want := map[string]int{
		"tagOutbox": 1, "accOutbox": 1, "orgOutbox": 1, "skillOutbox": 1, "wsOutbox": 1, "schedOutbox": 1,
		contracts.CollectionDeadLetters: 2 + 2*11, // two of its own, and of each filter the latest and the oldest first
		contracts.CollectionAudit:       5,
	}
	if diff := cmp.Diff(want, byCollection); diff != "" {
		t.Errorf("indexes of each collection (-want +got):\n%s", diff)
	}
	for collection, want := range map[string]firestoreIndexes{
		"tagOutbox": {
			Indexes: []compositeIndex{{CollectionGroup: "tagOutbox", QueryScope: "COLLECTION", Fields: []indexField{
				{"status", "ASCENDING"}, {"lane", "ASCENDING"}, {"createdAt", "ASCENDING"},
			}}},
			FieldOverrides: []fieldOverride{
				{CollectionGroup: "tagOutbox", FieldPath: "payload", Indexes: []indexField{}},
				{CollectionGroup: "tagOutbox", FieldPath: "expireAt", TTL: true, Indexes: []indexField{}},
			},
		},
		contracts.CollectionDeadLetters: {
			Indexes: []compositeIndex{{CollectionGroup: "dead-letter-queue", QueryScope: "COLLECTION", Fields: []indexField{
				{"aggregateId", "ASCENDING"}, {"outbox", "ASCENDING"}, {"open", "ASCENDING"}, {"aggregateVersion", "ASCENDING"},
			}}},
			FieldOverrides: []fieldOverride{
				{CollectionGroup: "dead-letter-queue", FieldPath: "record", Indexes: []indexField{}},
				{CollectionGroup: "dead-letter-queue", FieldPath: "errors", Indexes: []indexField{}},
				{CollectionGroup: "dead-letter-queue", FieldPath: "decisions", Indexes: []indexField{}},
			},
		},
	} {
		var first firestoreIndexes
		for _, index := range got.Indexes {
			if index.CollectionGroup == collection && first.Indexes == nil {
				first.Indexes = []compositeIndex{index}
			}
		}
		for _, field := range got.FieldOverrides {
			if field.CollectionGroup == collection {
				first.FieldOverrides = append(first.FieldOverrides, field)
			}
		}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Errorf("first index and overrides of %s (-want +got):\n%s", collection, diff)
		}
	}
}

// everyFilter returns filters that together have each condition alone, all
// pairs that an operator may think of, and all at once.
func everyFilter() []dlq.Filter {
	all := dlq.Filter{
		EventID: "e", EventType: "RoleChanged", TraceID: "t", AggregateID: "a", Tier: contracts.SecurityBlock, State: contracts.DeadBlocked,
		Outbox: "accOutbox", Lane: contracts.CriticalLane, Reason: contracts.AttemptsExhausted, Group: "g", Open: new(true),
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

// TestQueueHasItsIndexes asks the dead-letter queue everything, on a Firestore
// that refuses what it would need another index for.
func TestQueueHasItsIndexes(t *testing.T) {
	cloud := startCloud(t)
	t.Setenv(envFirestoreHost, cloud.FirestoreAddr)
	db, err := firestore.NewClient(t.Context(), testProject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store := dlqfirestore.New(db)
	queue, err := dlq.New(dlq.Config{Store: store, Catalog: testCatalog(t)})
	if err != nil {
		t.Fatal(err)
	}
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
	}
	second := *item
	second.ID = "e:a:3"
	for _, i := range []*dlq.Item{item, &second} { // two of a group, so that it is asked for both ends
		_, err := store.Commit(ctx, i.Burial(false))
		must("bury", err)
	}
	filters := everyFilter()
	for _, f := range filters {
		f.Group = item.Group
		_, err := queue.List(ctx, f, dlq.Page{})
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
		_, _, err := queue.Due(ctx, tier, []string{"accOutbox", "orgOutbox"}, time.Time{}, 10)
		must("due", err)
	}
	security := dlq.Actor{Name: "sara", Role: dlq.Security}
	_, err = queue.Freezes(ctx, dlq.Page{})
	must("freezes", err)
	_, err = queue.Decide(ctx, item.ID, dlq.Decide{Action: dlq.Replay, Actor: security, Reason: "because"})
	must("replay", err)
	_, err = queue.Older(ctx, item)
	must("older", err)
	_, err = queue.Release(ctx, "a", security, "because")
	must("release", err)
	timeline, err := queue.Trace(ctx, "t")
	must("trace", err)
	if timeline == nil || len(timeline.Freezes) != 1 {
		t.Errorf("trace found %+v, want a freeze", timeline)
	}
	_, err = queue.LaneControls(ctx)
	must("lanes", err)
	_, err = queue.Select(ctx, dlq.Filter{Outbox: "wsOutbox"})
	must("select", err)
	_, err = queue.Bulks(ctx, dlq.Page{})
	must("bulk replays", err)
	t.Logf("%d filters", len(filters))
}
