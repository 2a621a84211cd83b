package desk_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
	"outboxrelay/relay/workqueue/notifications"
)

// both are the tests that run on the embedded server and on Google's emulator.
var both = []struct {
	name string
	run  func(*testing.T, *rig)
}{
	{"overviews", testOverviews},
	{"one moment", testOneMoment},
	{"lists and pages", testItems},
	{"one document", testQueueItem},
	{"what an ID tells", testOfID},
	{"whose an ID tells it is", testTenantOfID},
	{"underscores", testUnderscores},
	{"what cannot be", testImpossible},
	{"requeue of jobs", testRequeueJobs},
	{"requeue of notifications", testRequeueNotifications},
	{"fifty requeues at once", testRequeueRace},
}

func TestDesk(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, onEmbedded(t)) })
	}
}

func TestGoogleDesk(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, onGoogle(t)) })
	}
}

var (
	palms = notifications.Tenant{ClientID: "acme", CondominiumID: "palms"}
	lake  = notifications.Tenant{ClientID: "acme", CondominiumID: "lake"}
)

func testOverviews(t *testing.T, r *rig) {
	r.job("org-1", "pending", 7, nil)
	r.job("org-2", "pending", 3, nil)
	for n, status := range []string{"processing", "sent", "sent", "failed", "dead", "dead"} {
		r.job("org-1", status, n, nil)
	}
	r.event(palms, "failed", 0, nil)
	r.event(lake, "emitted", 1, nil)
	r.job("org-1", "pending_dispatch", 1, nil)
	r.job("org-1", "", 1, map[string]any{"status": firestore.Delete})
	r.job("org-1", "", 1, map[string]any{"status": nil})
	r.job("org-1", "", 1, map[string]any{"status": 3})
	r.event(palms, "pending_dispach", 2, nil)
	r.event(lake, "", 2, map[string]any{"status": firestore.Delete})
	got, err := r.Overviews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []desk.Overview{
		{Queue: "jobs", Collection: "outbox", Oldest: began.Add(3 * time.Second), Statuses: []desk.StatusCount{
			{Status: "pending", Count: 2, Open: true},
			{Status: "processing", Count: 1, Open: true},
			{Status: "sent", Count: 2},
			{Status: "failed", Count: 1, Requeues: true},
			{Status: "dead", Count: 2, Requeues: true},
		}, Other: 4},
		{Queue: "notifications", Collection: "notificationEvents", Statuses: []desk.StatusCount{
			{Status: "pending_dispatch", Open: true}, {Status: "processing", Open: true}, {Status: "emitted", Count: 1}, {Status: "failed", Count: 1, Requeues: true},
		}, Other: 2},
	}
	for n := range got {
		if got[n].At.IsZero() {
			t.Errorf("%s: nobody knows when", got[n].Queue)
		}
		got[n].At = time.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A document that goes from status to status is never one of none.
func testOneMoment(t *testing.T, r *rig) {
	path := r.job("org-1", "pending", 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, err := r.db.Doc(path).Update(ctx, []firestore.Update{{Path: "status", Value: []string{"processing", "pending"}[n%2]}})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	defer changes.Wait()
	defer cancel()
	for range 30 {
		all, err := r.Overviews(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if o := all[0]; o.Other != 0 {
			t.Fatalf("%d of another status, want none: %+v", o.Other, o.Statuses)
		}
	}
}

// list turns all pages.
func (r *rig) list(queue string, f desk.Filter, limit int) (ids []string) {
	r.t.Helper()
	p := dlq.Page{Limit: limit}
	for {
		page, err := r.Items(r.t.Context(), queue, f, p)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		if p.Token = page.Next; p.Token == "" {
			return ids
		}
	}
}

func testItems(t *testing.T, r *rig) {
	var byJob, byEvent []string
	statuses := []string{"pending", "failed", "dead"}
	for n := range 12 {
		org := []string{"org-1", "org:2"}[n%2]
		byJob = append(byJob, r.job(org, statuses[n%3], n/2, nil)) // two of one time
		byEvent = append(byEvent, r.event([]notifications.Tenant{palms, lake}[n%2], []string{"emitted", "failed"}[n/6], n, nil))
	}
	strange := r.job("org-1", "strange", 1, nil)
	pick := func(from []string, of func(n int) bool) (out []string) {
		for n, id := range from {
			if of(n) {
				out = append(out, id)
			}
		}
		return out
	}
	for _, tc := range []struct {
		name, queue string
		filter      desk.Filter
		want        []string
		ordered     bool // each has a time of its own
	}{
		{"all jobs", "jobs", desk.Filter{}, byJob, false},
		{"by status", "jobs", desk.Filter{Status: "failed"}, pick(byJob, func(n int) bool { return n%3 == 1 }), false},
		{"by tenant", "jobs", desk.Filter{Tenant: "org:2"}, pick(byJob, func(n int) bool { return n%2 == 1 }), true},
		{"by both", "jobs", desk.Filter{Tenant: "org-1", Status: "dead"}, pick(byJob, func(n int) bool { return n%2 == 0 && n%3 == 2 }), true},
		{"by a status that there is not", "jobs", desk.Filter{Status: "strange"}, []string{strange}, true},
		{"of nobody", "jobs", desk.Filter{Tenant: "nobody"}, nil, true},
		{"all events", "notifications", desk.Filter{}, byEvent, true},
		{"events by status", "notifications", desk.Filter{Status: "failed"}, byEvent[6:], true},
		{"events by tenant", "notifications", desk.Filter{Tenant: "acme/lake"}, pick(byEvent, func(n int) bool { return n%2 == 1 }), true},
		{"events by both", "notifications", desk.Filter{Tenant: "acme/palms", Status: "emitted"}, pick(byEvent, func(n int) bool { return n%2 == 0 && n < 6 }), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, limit := range []int{1, 5, 50} {
				got := r.list(tc.queue, tc.filter, limit)
				want := slices.Clone(tc.want)
				slices.Reverse(want)
				if !tc.ordered {
					slices.Sort(want)
					slices.Sort(got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
	page, err := r.Items(t.Context(), "jobs", desk.Filter{Tenant: "org:2"}, dlq.Page{Limit: 1})
	if err != nil || page.Items[0].Tenant != "org:2" || page.Items[0].Fields != nil || page.Items[0].About["recipientId"] != "bob" {
		t.Errorf("got %+v, %v", page.Items, err)
	}
	_, err = r.Items(t.Context(), "jobs", desk.Filter{Tenant: "org-1"}, dlq.Page{Token: page.Next})
	refused(t, err, dlq.Invalid)
	_, err = r.Items(t.Context(), "notifications", desk.Filter{Tenant: "org:2"}, dlq.Page{Token: page.Next})
	refused(t, err, dlq.Invalid)
}

func testQueueItem(t *testing.T, r *rig) {
	path := r.event(palms, "failed", 0, map[string]any{"lastError": "the audience is too large", "lastErrorCode": "AUDIENCE_TOO_LARGE", "processedAt": began.Add(time.Minute)})
	letter := strings.Replace(path, "notificationEvents", "notificationDeadLetters", 1)
	r.set(letter, map[string]any{"errorCode": "AUDIENCE_TOO_LARGE"}, nil)
	i, err := r.QueueItem(t.Context(), "notifications", path)
	if err != nil {
		t.Fatal(err)
	}
	if i.ID != path || i.Tenant != "acme/palms" || i.Status != "failed" || i.Attempts != 5 || i.Most != 5 || i.LastErrorCode != "AUDIENCE_TOO_LARGE" || i.Owner != "w/1" {
		t.Errorf("got %+v", i)
	}
	if i.Fields["title"] != "Fuga" || i.About["title"] != "" || i.About["eventType"] != "maintenance.ticket_created" {
		t.Errorf("got the fields %v, about %v", i.Fields, i.About)
	}
	var kinds []string
	for _, e := range i.History {
		kinds = append(kinds, e.Kind+": "+e.Text)
	}
	want := []string{
		"created: it was created", "failed: attempt 5 failed: AUDIENCE_TOO_LARGE", "closed: it is failed, by w/1", "dead_letter: its last bad end is told by " + letter,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// Two or three underscores are an ID to Firestore, which keeps __x__ for itself.
func testUnderscores(t *testing.T, r *rig) {
	for _, path := range []string{"outbox/__", "outbox/___"} {
		r.set(path, map[string]any{"status": "dead"}, nil)
		if i, err := r.QueueItem(t.Context(), "jobs", path); err != nil || i.ID != path {
			t.Errorf("document %s is shown as %+v, %v", path, i, err)
		}
	}
}

func testImpossible(t *testing.T, r *rig) {
	r.set("other/x", map[string]any{"status": "failed"}, nil)
	for _, id := range []string{"", "outbox", "outbox/none", "outbox/", "other/x", "outbox/x/more/y", "outbox/..", "outbox/__x__", "/outbox/x", "outbox/\xff"} {
		_, err := r.QueueItem(t.Context(), "jobs", id)
		refused(t, err, dlq.NotFound)
		_, err = r.Requeue(t.Context(), "jobs", id, desk.Requeue{Actor: operator, Reason: "x"})
		refused(t, err, dlq.NotFound)
	}
	_, err := r.QueueItem(t.Context(), "weather", "outbox/x")
	refused(t, err, dlq.NotFound)
	_, err = r.Items(t.Context(), "weather", desk.Filter{}, dlq.Page{})
	refused(t, err, dlq.NotFound)
	for _, f := range []desk.Filter{{Tenant: "acme"}, {Tenant: "a/b/c"}} {
		_, err := r.Items(t.Context(), "notifications", f, dlq.Page{})
		refused(t, err, dlq.Invalid)
	}
	_, err = r.Items(t.Context(), "jobs", desk.Filter{Tenant: strings.Repeat("x", 1500)}, dlq.Page{})
	refused(t, err, dlq.Invalid)
	for _, p := range []dlq.Page{{Limit: -1}, {Limit: 201}, {Token: "x"}, {Token: "e30"}, {Token: strings.Repeat("a", 20<<10)}} {
		_, err := r.Items(t.Context(), "jobs", desk.Filter{}, p)
		refused(t, err, dlq.Invalid)
	}
}
