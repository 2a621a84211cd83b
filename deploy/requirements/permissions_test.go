package requirements_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

// Whether they are those that the service needs is a test of the whole service,
// in cmd/outbox-relay.
func TestPermissionsDependOnTheCatalog(t *testing.T) {
	names := func(catalog *contracts.Catalog, when string) []string {
		var out []string
		for _, p := range requirements.Of(catalog).Permissions {
			if p.When == when {
				out = append(out, p.Name)
			}
		}
		return out
	}
	catalog := defaultCatalog(t)
	if diff := cmp.Diff([]string{"firebaseauth.users.get", "firebaseauth.users.update"}, names(catalog, requirements.WhenHandler)); diff != "" {
		t.Errorf("for the handler of claims (-want +got):\n%s", diff)
	}
	standIn, err := catalog.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(standIn, requirements.WhenHandler); got != nil {
		t.Errorf("with a topic in place of the handler: %v, want none", got)
	}
	for _, name := range []string{"datastore.entities.create", "pubsub.topics.publish"} {
		if !slices.Contains(names(standIn, requirements.WhenAlways), name) {
			t.Errorf("%s is not always needed", name)
		}
	}
}

func TestCollectionsHaveAPurpose(t *testing.T) {
	for _, c := range requirements.Of(defaultCatalog(t)).Collections {
		if c.Purpose == "" {
			t.Errorf("collection %s has no purpose", c.Name)
		}
	}
}
