package desk_test

import (
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
)

// A job that gives its channel, recipient and template in its key alone is sent by them, and shown
// with them, in lists too. What a field says stands, as it does for who sends it.
func testOfID(t *testing.T, r *rig) {
	path := r.job("org-1", "dead", 0, map[string]any{"channel": firestore.Delete, "recipientId": nil, "templateId": 7, "entityId": "another"})
	whole, err := r.QueueItem(t.Context(), "jobs", path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Items(t.Context(), "jobs", desk.Filter{Status: "dead"}, dlq.Page{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("dead are %v, %v; want the one", page.Items, err)
	}
	for where, about := range map[string]map[string]string{"by itself": whole.About, "in a list": page.Items[0].About} {
		for field, want := range map[string]string{"channel": "email", "recipientId": "bob", "templateId": "", "entityId": "another", "eventType": "matter.created"} {
			if about[field] != want {
				t.Errorf("%s its %s is shown as %q, want %q", where, field, about[field], want)
			}
		}
	}
}

// A job that names its organization in its key alone is shown as that organization's, in the words
// that a field would have; the list of an organization goes by the field.
func testTenantOfID(t *testing.T, r *rig) {
	path := r.job("org%3A1", "dead", 0, map[string]any{"orgId": firestore.Delete})
	whole, err := r.QueueItem(t.Context(), "jobs", path)
	if err != nil || whole.Tenant != "org:1" {
		t.Errorf("it is shown as %q's, %v; want org:1", whole.Tenant, err)
	}
	page, err := r.Items(t.Context(), "jobs", desk.Filter{Tenant: "org:1"}, dlq.Page{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("the organization's list has %d, %v; want those that have the field", len(page.Items), err)
	}
}
