package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestBulkOrderNamesWhatItTakes(t *testing.T) {
	f := setup(t)
	dry := read[admin.Selection](f.do("dev-operator", http.MethodPost, "/replays", `{"ids":["a","b"],"dryRun":true,"ratePerSecond":10}`), http.StatusOK)
	if diff := cmp.Diff([]string{"a", "b"}, f.queue.ids); diff != "" || f.queue.filter != (dlq.Filter{}) {
		t.Errorf("selected %v and %+v", f.queue.ids, f.queue.filter)
	}
	item := dry.Items[0]
	if dry.Pin != "1.a.b" || dry.Plan.Canary != 1 || dry.Plan.RatePerSecond != 10 || !item.Canary || item.LastError == nil || len(item.PendingTargets) != 1 {
		t.Errorf("got %+v", dry)
	}
	read[admin.Bulk](f.do("dev-operator", http.MethodPost, "/replays", `{"ids":["a"],"pin":"1.a.b","requestId":"once"}`), http.StatusAccepted)
	want := dlq.BulkRequest{IDs: []string{"a"}, Pin: "1.a.b", Key: "once", Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}}
	if diff := cmp.Diff(want, f.queue.bulk); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	for body, why := range map[string]string{
		`{"dryRun":true}`:           "says nothing of what to replay",
		`{"reason":"x"}`:            "says nothing of what to replay",
		`{"ids":["a"],"filter":{}}`: "a filter and ids",
		`{"ids":[]}`:                "body.ids",
		`{"ids":["` + strings.Repeat(`a","`, 200) + `b"]}`: "body.ids",
	} {
		f.do("dev-operator", http.MethodPost, "/replays", body).refused(http.StatusUnprocessableEntity, why)
	}
}
