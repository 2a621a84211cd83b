package dlq_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestOutboxesOfOtherCatalogs: the leases tell which outboxes are relayed by instances with
// another catalog. What stands there may be anything.
func TestOutboxesOfOtherCatalogs(t *testing.T) {
	f := setup(t)
	own := []string{}
	for _, o := range f.Catalog.Outboxes {
		own = append(own, o.Name)
	}
	outboxes := func() []string {
		t.Helper()
		got, err := f.Queue.Outboxes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff(own, outboxes()); diff != "" {
		t.Errorf("without leases (-want +got):\n%s", diff)
	}
	for id, kind := range map[string]string{
		"accOutbox": "lease", "wsOutbox": "lease", "queue": "lease", // of this catalog
		"billOutbox": "lease", "mailOutbox.0": "lease", "mailOutbox.1": "lease", // of others
		"!bell": "bell", "instance.a": "instance",
		"instance.b": "lease", "frozen-entities": "lease", "tab\tOutbox": "lease", "strange": "something",
	} {
		write := dlq.Write{Collection: contracts.CollectionLeases, ID: id, Op: dlq.OpSet, Fields: map[string]any{"kind": kind}}
		if _, err := f.Store.Commit(t.Context(), []dlq.Write{write}); err != nil {
			t.Fatal(err)
		}
	}
	want := append(own, "billOutbox", "mailOutbox", "mailOutbox.0", "mailOutbox.1")
	if diff := cmp.Diff(want, outboxes()); diff != "" {
		t.Errorf("with those of other catalogs (-want +got):\n%s", diff)
	}
}
