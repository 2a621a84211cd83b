package readable_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/relay/firestore/readable"
)

// The SDK's words hold the value that it cannot read, which may be a payload's; why a document or
// a field of it cannot be read is logged and stored.
func TestWhyItCannotBeReadHoldsNoValue(t *testing.T) {
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client, err := firestore.NewClient(t.Context(), "p-odd", append(local.FirestoreOptions(address), firestoretest.Unreadable("odd"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ref := client.Doc("c/d")
	if _, err := ref.Set(t.Context(), map[string]any{"odd": 1, "sound": 2}); err != nil {
		t.Fatal(err)
	}
	snap, err := ref.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields, err := readable.Fields(snap, []string{"odd", "sound", "absent"})
	if err == nil || len(fields) != 1 || fields["sound"] != int64(2) {
		t.Fatalf("it is %v, %v; want the field that can be read, and why the document cannot", fields, err)
	}
	_, unread := readable.Parts(snap, []string{"odd", "sound", "absent"})
	if len(unread) != 1 || unread["odd"] == nil {
		t.Fatalf("unread are %v, want the odd one", unread)
	}
	for _, why := range []error{err, unread["odd"]} {
		if slices.ContainsFunc([]string{"projects/p", "databases"}, func(part string) bool { return strings.Contains(why.Error(), part) }) {
			t.Errorf("it says %q, which holds the value", why)
		}
	}
}
