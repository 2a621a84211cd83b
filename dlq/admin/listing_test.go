package admin_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestCountOfDeadLetters(t *testing.T) {
	f := setup(t)
	got := read[admin.DeadLetterCount](f.do("dev-viewer", http.MethodGet, "/dlq/count?tier=SAFE_AUTO&open=true", ""), http.StatusOK)
	if want := (admin.DeadLetterCount{Count: dlq.MaxMatching, AtLeast: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if want := (dlq.Filter{Tier: contracts.SafeAuto, Open: new(true)}); cmp.Diff(want, f.queue.filter) != "" {
		t.Errorf("asked for %+v, want %+v", f.queue.filter, want)
	}
}

func TestNamedDeadLetters(t *testing.T) {
	f := setup(t)
	ids := url.QueryEscape(`["a,b","c\"d"]`)
	got := read[admin.NamedDeadLetters](f.do("dev-viewer", http.MethodGet, "/dlq/named?ids="+ids, ""), http.StatusOK)
	if len(got.Items) != 1 || got.Items[0].ID != letter().ID {
		t.Errorf("got %+v", got.Items)
	}
	if diff := cmp.Diff([]string{"a,b", `c"d`}, f.queue.ids); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	for _, ids := range []string{"a", "{}", "[1]", `["a"`} {
		f.do("dev-viewer", http.MethodGet, "/dlq/named?ids="+url.QueryEscape(ids), "").refused(http.StatusUnprocessableEntity, "JSON array")
	}
	f.do("dev-viewer", http.MethodGet, "/dlq/named", "").refused(http.StatusUnprocessableEntity, "")
}
