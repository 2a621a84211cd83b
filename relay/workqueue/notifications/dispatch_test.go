package notifications

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
)

// both are the tests that run on the embedded server and on Google's emulator.
var both = []struct {
	name string
	run  func(*testing.T, *fixture)
}{
	{"maintenance.ticket_created with two admins", testTwoAdmins},
	{"inventory.out_of_stock with active recipients", testActiveRecipients},
	{"specific_users with an explicit list", testSpecificUsers},
	{"the same event twice within the window", testDuplicate},
	{"the same event once the window is over", testAfterTheWindow},
	{"the same event in another tenant", testAnotherTenant},
	{"the same key at the same moment", testSameMoment},
	{"a queue document without a marker", testQueueDocumentOfTheFrontEnd},
	{"without a dedupeKey", testNoKey},
	{"the creator when nobody is left", testFallback},
	{"a tenant without documents", testNoDocuments},
	{"what is read stays read", testReadStaysRead},
	{"what is deleted stays deleted", testDeletedStaysDeleted},
	{"the audience stands though people change", testAudienceStands},
	{"killed at any call", testKilledAtAnyCall},
	{"another has the event", testLost},
	{"another takes the event between look and commit", testLostInBetween},
	{"the same key at the same moment, after the window", testSameMomentLater},
	{"large notifications", testLargeNotifications},
}

func TestDispatch(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, onEmbedded(t))) })
	}
}

func TestGoogleDispatch(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, onGoogle(t))) })
	}
}

var twoAdmins = []person{{id: "ana", role: "admin"}, {id: "bo", role: "admin-assistant"}, {id: "cy", role: "resident"}, {id: "uid", role: "resident"}}

func testTwoAdmins(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	ref := f.event(tenant, with("whatTheWorkerDoesNotKnow", "kept"))
	before := f.fields(relative(ref))
	f.mustDispatch(ref, Emitted)

	after := f.fields(relative(ref))
	if after["processedAt"] == nil || after["queueId"] != ref.ID {
		t.Errorf("event %v", after)
	}
	want := maps.Clone(before)
	maps.Copy(want, map[string]any{"status": "emitted", "lockUntil": nil, "lastError": nil, "lastErrorCode": nil, "nextRetryAt": nil, "attempts": int64(1), "queueId": ref.ID})
	if diff := cmp.Diff(want, without(after, "processedAt", "workerId")); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}

	queue := f.fields(tenant.Path() + "/notificationQueue/" + ref.ID)
	if queue["createdAt"] == nil || queue["createdAt"] != queue["dispatchedAt"] {
		t.Errorf("queue document %v", queue)
	}
	if diff := cmp.Diff(map[string]any{
		"sourceEventId": ref.ID, "eventType": "maintenance.ticket_created", "module": "maintenance", "priority": "medium", "channels": []any{"in_app"},
		"status": "dispatched", "dedupeKey": before["dedupeKey"], "recipientsCount": int64(2), "recipients": []any{"ana", "bo"}, "notificationsWritten": int64(2),
		"dispatchedBy": "notification-worker", "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID,
	}, without(queue, "createdAt", "dispatchedAt")); diff != "" {
		t.Errorf("queue document (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string][]string{"ana": {ref.ID}, "bo": {ref.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
	bell := f.fields(tenant.Path() + "/users/ana/notifications/" + ref.ID)
	if _, ok := bell["createdAt"].(time.Time); !ok {
		t.Errorf("notification %v", bell)
	}
	if diff := cmp.Diff(map[string]any{
		"title": before["title"], "body": before["body"], "module": "maintenance", "eventType": "maintenance.ticket_created", "priority": "medium",
		"read": false, "readAt": nil, "entityId": "abc123", "entityType": "ticket_maintenance", "metadata": map[string]any{"floor": int64(3)},
		"sourceEventId": ref.ID, "sourceQueueId": ref.ID, "createdBy": "notification-worker", "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID,
	}, without(bell, "createdAt")); diff != "" {
		t.Errorf("notification (-want +got):\n%s", diff)
	}

	stats := f.stats(tenant)
	if diff := cmp.Diff(Stats{Begin: stats.Begin, ProcessedEvents: 1, NotificationsWritten: 2}, stats); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	f.wantLine(map[string]any{
		"eventId": ref.ID, "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID, "dedupeKey": before["dedupeKey"],
		"attempts": int64(1), "recipientsCount": int64(2), "result": "emitted",
	})
}

// wantLine checks the latest log line, which says nothing of what the people read.
func (f *fixture) wantLine(want map[string]any) {
	f.t.Helper()
	lines := f.logs.All()
	if len(lines) == 0 {
		f.t.Fatal("no log line")
	}
	got := lines[len(lines)-1].ContextMap()
	if _, ok := got["latencyMs"].(int64); !ok {
		f.t.Errorf("log line %v has no latencyMs", got)
	}
	for name, value := range want {
		if got[name] != value {
			f.t.Errorf("log line: %s is %v, want %v", name, got[name], value)
		}
	}
	if text := fmt.Sprint(got); strings.Contains(text, "fuga") {
		f.t.Errorf("the log tells what people read: %s", text)
	}
}

func testDuplicate(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	first, second := f.event(tenant, with("dedupeKey", "same")), f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(first, Emitted)
	f.mustDispatch(second, Deduped)
	if diff := cmp.Diff(map[string][]string{"ana": {first.ID}, "bo": {first.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
	after := f.fields(relative(second))
	if after["status"] != "emitted" || after["processedAt"] == nil || after["queueId"] != first.ID || after["lockUntil"] != nil {
		t.Errorf("the second event %v", after)
	}
	f.wantLine(map[string]any{"eventId": second.ID, "result": "deduped", "recipientsCount": int64(0)})
	stats := f.stats(tenant)
	if diff := cmp.Diff(Stats{Begin: stats.Begin, ProcessedEvents: 2, DedupedEvents: 1, NotificationsWritten: 2}, stats); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// age makes a key's delivery older than the window.
func (f *fixture) age(tenant Tenant, key, eventID string) {
	f.t.Helper()
	d := dispatch{client: f.db, event: event{tenant: tenant, id: eventID, dedupeKey: key}}
	for _, ref := range []*firestore.DocumentRef{d.queueRef(), d.markerRef()} {
		snap, err := ref.Get(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		if _, err := ref.Update(f.t.Context(), []firestore.Update{{Path: "createdAt", Value: snap.ReadTime.Add(-f.settings.DedupeWindow - time.Second)}}); err != nil {
			f.t.Fatal(err)
		}
	}
}

func testAfterTheWindow(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	first := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(first, Emitted)
	f.age(tenant, "same", first.ID)
	second := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(second, Emitted)
	third := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(third, Deduped)
	if diff := cmp.Diff(slices.Sorted(slices.Values([]string{first.ID, second.ID})), f.bells(tenant)["ana"]); diff != "" {
		t.Errorf("bell (-want +got):\n%s", diff)
	}
	// An attempt at the first that begins anew now is still the first one's.
	f.set(f.db.Doc(relative(first)), eventFields(tenant, with("dedupeKey", "same")))
	f.mustDispatch(first, Emitted)
	if got := len(f.bells(tenant)["ana"]); got != 2 {
		t.Errorf("%d notifications after the first event was dispatched again, want 2", got)
	}
}

func testAnotherTenant(t *testing.T, f *fixture) {
	one, two := f.tenant("a", twoAdmins...), f.tenant("b", twoAdmins...)
	first, second := f.event(one, with("dedupeKey", "same")), f.event(two, with("dedupeKey", "same"))
	f.mustDispatch(first, Emitted)
	f.mustDispatch(second, Emitted)
	if got := f.bells(two); len(got) != 2 {
		t.Errorf("bells of the second tenant %v", got)
	}
}

// Events with one key have one delivery however many instances have them at once.
func testSameMoment(t *testing.T, f *fixture) {
	const events = 8
	tenant := f.tenant("a", twoAdmins...)
	attempts := make([]attempt, events)
	for i := range attempts {
		attempts[i] = f.claim(f.handler, f.event(tenant, with("dedupeKey", "same")))
	}
	results := make([]Result, events)
	atOnce(events, func(i int) {
		sum, err := f.handler.attempt(t.Context(), attempts[i])
		if err != nil {
			t.Error(err)
		}
		results[i] = sum.result
	})
	slices.Sort(results)
	if diff := cmp.Diff(append(slices.Repeat([]Result{Deduped}, events-1), Emitted), results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if got := f.bells(tenant); len(got) != 2 || len(got["ana"]) != 1 || len(got["bo"]) != 1 {
		t.Errorf("bells %v", got)
	}
}

func testQueueDocumentOfTheFrontEnd(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	queue := func(id string, of Tenant) {
		f.set(f.db.Doc(tenant.Path()+"/notificationQueue/"+id), map[string]any{
			"dedupeKey": "same", "sourceEventId": "its", "clientId": of.ClientID, "condominiumId": of.CondominiumID, "createdAt": firestore.ServerTimestamp,
		})
	}
	queue("foreign", Tenant{"x", "y"})
	first := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(first, Emitted) // what says that it is another tenant's is no twin
	f.age(tenant, "same", first.ID)
	queue("random", tenant)
	second := f.event(tenant, with("dedupeKey", "same"))
	f.mustDispatch(second, Deduped)
	if got := f.fields(relative(second))["queueId"]; got != "random" {
		t.Errorf("queueId %v", got)
	}
}

func testNoKey(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	for range 2 {
		f.mustDispatch(f.event(tenant, with("dedupeKey", nil)), Emitted)
	}
	if got := len(f.bells(tenant)["ana"]); got != 2 {
		t.Errorf("%d notifications, want 2", got)
	}
}

func testReadStaysRead(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	ref := f.event(tenant)
	f.mustDispatch(ref, Emitted)
	bell := f.db.Doc(tenant.Path() + "/users/ana/notifications/" + ref.ID)
	read := []firestore.Update{{Path: "read", Value: true}, {Path: "readAt", Value: firestore.ServerTimestamp}}
	if _, err := bell.Update(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	before := f.fields(relative(bell))
	// Even without the queue document, which says that all is written.
	if _, err := f.db.Doc(tenant.Path() + "/notificationQueue/" + ref.ID).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.db.Doc(tenant.Path() + "/users/bo/notifications/" + ref.ID).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(before, f.fields(relative(bell))); diff != "" {
		t.Errorf("the notification that was read (-before +after):\n%s", diff)
	}
	if got := f.bells(tenant); len(got["bo"]) != 1 {
		t.Errorf("bells %v", got)
	}
	if got := f.stats(tenant).NotificationsWritten; got != 3 {
		t.Errorf("%d notifications were written, want 3", got)
	}
}

func testDeletedStaysDeleted(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	ref := f.event(tenant)
	f.mustDispatch(ref, Emitted)
	if _, err := f.db.Doc(tenant.Path() + "/users/ana/notifications/" + ref.ID).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mustDispatch(ref, Emitted) // as after an answer that was lost
	if got := f.bells(tenant); len(got) != 1 || len(got["bo"]) != 1 {
		t.Errorf("bells %v, want that of bo alone", got)
	}
}

// A process that is killed at any of its calls, before it is applied or after, leaves what the
// next attempt completes: nobody has a notification twice, nobody none, and the figures
// are exact.
func testKilledAtAnyCall(t *testing.T, f *fixture) {
	f.settings.BatchSize = 2
	admins := people(5)
	f.handler = f.newHandler(f.db, nil)
	want := Stats{ProcessedEvents: 1, NotificationsWritten: 5}
	for _, after := range []bool{false, true} {
		for n := int64(1); ; n++ {
			tenant := f.tenant(fmt.Sprintf("%d-%v", n, after), admins...)
			ref := f.event(tenant)
			counter := &calls{fail: n, after: after, dead: true}
			h := f.newHandler(f.client(counter.options()...), nil)
			_, err := h.attempt(t.Context(), f.claim(h, ref))
			if counter.made.Load() < n {
				if err != nil {
					t.Fatalf("nothing failed and yet: %v", err)
				}
				t.Logf("%d calls, after %v", n-1, after)
				break
			}
			if f.fields(relative(ref))["status"] != StatusEmitted {
				f.mustDispatch(ref, Emitted)
			} else if err == nil && !after {
				t.Fatalf("call %d was not applied, and yet there is no error", n)
			}
			if diff := cmp.Diff(everybody(admins, ref.ID), f.bells(tenant)); diff != "" {
				t.Fatalf("killed at call %d, after %v: bells (-want +got):\n%s", n, after, diff)
			}
			got := f.stats(tenant)
			want.Begin = got.Begin
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("killed at call %d, after %v: figures (-want +got):\n%s", n, after, diff)
			}
		}
	}
}

// Who has lost the event writes nothing more.
func testLost(t *testing.T, f *fixture) {
	f.settings.BatchSize = 2
	f.handler = f.newHandler(f.db, nil)
	admins := people(5)
	tenant := f.tenant("a", admins...)
	ref := f.event(tenant)
	stale := f.claim(f.handler, ref)
	f.mustDispatch(ref, Emitted)
	for user := range f.bells(tenant) {
		if _, err := f.db.Doc(tenant.Path() + "/users/" + user + "/notifications/" + ref.ID).Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.handler.attempt(t.Context(), stale); !isLost(err) {
		t.Errorf("got %v, want the claim to be lost", err)
	}
	if got := f.bells(tenant); len(got) != 0 {
		t.Errorf("who had lost the event wrote %v", got)
	}
	deleted := f.event(tenant)
	claim := f.claim(f.handler, deleted)
	if _, err := deleted.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.handler.attempt(t.Context(), claim); !isLost(err) {
		t.Errorf("an event that was deleted: %v, want the claim to be lost", err)
	}
	if got := f.bells(tenant); len(got) != 0 {
		t.Errorf("an event that was deleted wrote %v", got)
	}
}

// A commit holds fewer notifications when they are large.
func testLargeNotifications(t *testing.T, f *fixture) {
	admins := people(12)
	tenant := f.tenant("a", admins...)
	ref := f.event(tenant, with("metadata", map[string]any{"text": strings.Repeat("x", 700<<10)}))
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(everybody(admins, ref.ID), f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
}
