package admin_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq/admin"
)

func TestHeldIsCountedWhenAskedFor(t *testing.T) {
	f := setup(t)
	list := read[admin.FreezeList](f.do("dev-viewer", http.MethodGet, "/freezes", ""), http.StatusOK)
	if list.Items[0].Held != nil {
		t.Errorf("counted without having been asked: %+v", list.Items[0].Held)
	}
	want := &admin.Held{Records: 1002, AtLeast: true, Outboxes: []admin.OutboxHeld{{Outbox: "accOutbox", Records: 2}, {Outbox: "orgOutbox", Records: 1000, AtLeast: true}}}
	list = read[admin.FreezeList](f.do("dev-viewer", http.MethodGet, "/freezes?held=true&limit=200", ""), http.StatusOK)
	if diff := cmp.Diff(want, list.Items[0].Held); diff != "" || f.queue.page.Limit != 20 {
		t.Errorf("held of a page of %d, want 20 (-want +got):\n%s", f.queue.page.Limit, diff)
	}
	one := read[admin.FreezeDetail](f.do("dev-viewer", http.MethodGet, "/freezes/a%2Fb%25", ""), http.StatusOK)
	if diff := cmp.Diff(want, one.Held); diff != "" || f.queue.id != "a/b%" || len(one.Open) != 1 {
		t.Errorf("freeze of %q with %d open (-want +got):\n%s", f.queue.id, len(one.Open), diff)
	}
}

func TestAggregatesNamedByDotsAreReleased(t *testing.T) {
	f := setup(t)
	for path, want := range map[string]string{"%252E": ".", "%252E.": "..", "%25252E": "%2E", "acc-1": "acc-1"} {
		read[admin.FreezeDetail](f.do("dev-viewer", http.MethodGet, "/freezes/"+path, ""), http.StatusOK)
		if f.queue.id != want {
			t.Errorf("%s: looked at %q, want %q", path, f.queue.id, want)
		}
		f.queue.id = "none"
		read[admin.Released](f.do("dev-security", http.MethodPost, "/freezes/"+path+"/release", because), http.StatusAccepted)
		if f.queue.id != want {
			t.Errorf("%s: released %q, want %q", path, f.queue.id, want)
		}
	}
}
