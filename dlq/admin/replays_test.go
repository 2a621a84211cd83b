package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
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

// Whoever mends what a record's contract is broken by mends all of it, not the last alone.
func TestADryRunTellsEveryFault(t *testing.T) {
	f := setup(t)
	f.queue.errors = []contracts.AttemptError{
		{At: died, Code: string(contracts.ContractViolation), Message: "traceId is missing"},
		{At: died, Code: string(contracts.ContractViolation), Message: "payload is missing"},
	}
	dry := read[admin.Selection](f.do("dev-operator", http.MethodPost, "/replays", `{"ids":["a"],"dryRun":true}`), http.StatusOK)
	if got, want := dry.Items[0].LastError.Message, "traceId is missing; payload is missing"; got != want {
		t.Errorf("it tells %q, want %q", got, want)
	}
}

func TestAnOrderTakesItsIDsHoweverLong(t *testing.T) {
	for name, char := range map[string]string{"plain": "a", "escaped": "<"} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			ids := make([]string, dlq.MaxPicked)
			for n := range ids {
				ids[n] = fmt.Sprintf("%03d%s", n, strings.Repeat(char, dlq.MaxIDBytes-3))
			}
			body, err := json.Marshal(admin.BulkOrder{IDs: ids, Reason: strings.Repeat(char, 900)})
			if err != nil {
				t.Fatal(err)
			}
			read[admin.Bulk](f.do("dev-operator", http.MethodPost, "/replays", string(body)), http.StatusAccepted)
			if !slices.Equal(f.queue.bulk.IDs, ids) {
				t.Errorf("%d IDs reach the queue, want the %d that were told", len(f.queue.bulk.IDs), len(ids))
			}
		})
	}
	const most = 64<<10 + 200*(6*1500+3)
	setup(t).do("dev-operator", http.MethodPost, "/replays", `{"filter":{}}`+strings.Repeat(" ", most)).refused(http.StatusRequestEntityTooLarge, fmt.Sprint(most))
}
