package admin_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestPayloadOfBlockedIsCoveredForEverybody(t *testing.T) {
	for _, tt := range []struct {
		name           string
		tier, original contracts.Tier
		who            string
		shown          bool
	}{
		{"other tiers are not covered", contracts.ReviewRequired, contracts.SafeAuto, "dev-viewer", true},
		{"viewer", contracts.SecurityBlock, contracts.SecurityBlock, "dev-viewer", false},
		{"operator", contracts.SecurityBlock, contracts.SecurityBlock, "dev-operator", false},
		{"operator, raised to it", contracts.SecurityBlock, contracts.ReviewRequired, "dev-operator", false},
		{"operator, once of it", contracts.ReviewRequired, contracts.SecurityBlock, "dev-operator", false},
		{"security", contracts.SecurityBlock, contracts.SecurityBlock, "dev-security", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := setup(t)
			f.queue.item.Tier, f.queue.item.OriginalTier, f.queue.item.State = tt.tier, tt.original, tt.tier.FirstState()
			a := f.do(tt.who, http.MethodGet, "/dlq/x", "")
			got := read[admin.DeadLetterDetail](a, http.StatusOK)
			if shown := strings.Contains(string(a.body), "password"); shown != tt.shown {
				t.Errorf("the payload is shown: %t, want %t", shown, tt.shown)
			}
			if shown := strings.Contains(string(a.body), `"extra":"more"`); shown != tt.shown {
				t.Errorf("a field that the relay does not know is shown: %t, want %t", shown, tt.shown)
			}
			if told := strings.Contains(got.PayloadWithheld, "uncover"); told == tt.shown {
				t.Errorf("it says %q", got.PayloadWithheld)
			}
			if got.Record["eventId"] != "7f0c" {
				t.Errorf("the rest of the record is %v", got.Record)
			}
		})
	}
}

func TestUncoverShowsTheWholeRecord(t *testing.T) {
	f := setup(t)
	f.queue.item.Tier, f.queue.item.State = contracts.SecurityBlock, contracts.DeadBlocked
	a := f.do("dev-security", http.MethodPost, "/dlq/x/uncover", because)
	got := read[admin.Uncovered](a, http.StatusOK)
	if payload, _ := got.Record["payload"].(map[string]any); payload["secret"] != "password" || got.Record["extra"] != "more" {
		t.Errorf("the record is %v", got.Record)
	}
	if want := (admin.Decision{ID: "look", Action: "uncover", By: "dev-security", At: died, Reason: "because"}); got.Decision != want {
		t.Errorf("the look is %+v, want %+v", got.Decision, want)
	}
	if cache := a.header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("it may be kept: %q", cache)
	}
}

// A look that cannot be written down does not happen.
func TestUncoverFailsClosed(t *testing.T) {
	f := setup(t)
	f.queue.item.Tier, f.queue.item.State = contracts.SecurityBlock, contracts.DeadBlocked
	f.queue.err = errors.New("the entry was not written")
	a := f.do("dev-security", http.MethodPost, "/dlq/x/uncover", because)
	if a.status < 500 || strings.Contains(string(a.body), "password") {
		t.Errorf("got %d: %s", a.status, a.body)
	}
}

func TestUncoverIsAudited(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog))
	blocked := q.die("RoleChanged")
	path := "/dlq/" + url.PathEscape(blocked.ID)

	f.do("dev-operator", http.MethodPost, path+"/uncover", because).refused(http.StatusForbidden, "role security")
	f.do("dev-security", http.MethodPost, path+"/uncover", `{"reason":" "}`).refused(http.StatusUnprocessableEntity, "reason")
	f.do("dev-security", http.MethodPost, "/dlq/none/uncover", because).refused(http.StatusNotFound, "no dead letter")
	open := q.die("WalletDeducted")
	f.do("dev-security", http.MethodPost, "/dlq/"+url.PathEscape(open.ID)+"/uncover", because).refused(http.StatusConflict, "not covered")
	if n := len(looks(t, q, blocked.ID)) + len(looks(t, q, open.ID)); n != 0 {
		t.Fatalf("%d looks are audited, and nobody looked", n)
	}

	before := read[admin.DeadLetterDetail](f.do("dev-security", http.MethodGet, path, ""), http.StatusOK)
	got := read[admin.Uncovered](f.do("dev-security", http.MethodPost, path+"/uncover", because), http.StatusOK)
	if payload, _ := got.Record["payload"].(map[string]any); payload["secret"] != "x" {
		t.Errorf("the record is %v", got.Record)
	}
	entries := looks(t, q, blocked.ID)
	if len(entries) != 1 {
		t.Fatalf("%d looks are audited, want 1", len(entries))
	}
	if e := entries[0]; e.ID != got.Decision.ID || e.Actor != "dev-security" || e.Reason != "because" || e.Subject != dlq.SubjectDeadLetter ||
		e.From != string(contracts.DeadBlocked) || e.To != e.From || e.TraceID != blocked.TraceID {
		t.Errorf("the entry is %+v", e)
	}
	after := read[admin.DeadLetterDetail](f.do("dev-security", http.MethodGet, path, ""), http.StatusOK)
	if after.ETag != before.ETag || after.PayloadWithheld == "" {
		t.Errorf("after the look its tag is %s, want %s, and it withholds %q", after.ETag, before.ETag, after.PayloadWithheld)
	}
}

// looks reads the audit entries of those who uncovered a dead letter.
func looks(t *testing.T, q *realQueue, id string) []*dlq.Entry {
	t.Helper()
	page, err := q.Audit(t.Context(), dlq.AuditFilter{On: id, Action: "uncover"}, dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

func TestRecordsAreFoundByEventOrAggregate(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog))
	item := q.die("WalletDeducted")
	q.die("WalletDeducted")
	for _, query := range []string{"eventId=" + url.QueryEscape(item.EventID), "aggregateId=" + url.QueryEscape(item.AggregateID)} {
		got := read[admin.RecordList](f.do("dev-viewer", http.MethodGet, "/records?"+query, ""), http.StatusOK)
		if len(got.Items) != 1 || got.Items[0].TraceID != item.TraceID || got.Items[0].Path != item.RecordPath || got.Truncated {
			t.Errorf("%s: got %+v", query, got)
		}
	}
	if got := read[admin.RecordList](f.do("dev-viewer", http.MethodGet, "/records?eventId=none", ""), http.StatusOK); len(got.Items) != 0 {
		t.Errorf("an event that is not there has %v", got.Items)
	}
	f.do("dev-viewer", http.MethodGet, "/records", "").refused(http.StatusUnprocessableEntity, "by an event or by an aggregate")
	f.do("dev-viewer", http.MethodGet, "/records?eventId=a&aggregateId=b", "").refused(http.StatusUnprocessableEntity, "by an event or by an aggregate")
}

func TestWhatComesFirstIsNamed(t *testing.T) {
	f := setup(t)
	f.queue.older = []*dlq.Item{{ID: "older", AggregateVersion: 2, State: contracts.DeadAwaitingReview}}
	got := read[admin.DeadLetterDetail](f.do("dev-operator", http.MethodGet, "/dlq/x", ""), http.StatusOK)
	replay := got.Actions[0]
	if replay.Allowed || len(replay.First) != 1 || replay.First[0] != (admin.Before{ID: "older", AggregateVersion: 2, State: contracts.DeadAwaitingReview}) {
		t.Errorf("got %+v", replay)
	}
	if got.Order != nil {
		t.Errorf("the order of a replay that may not be asked for is %+v", got.Order)
	}
	f.queue.older = nil
	if got := read[admin.DeadLetterDetail](f.do("dev-operator", http.MethodGet, "/dlq/x", ""), http.StatusOK); got.Order == nil || got.Order.DeliveredSince != 1 {
		t.Errorf("the order is %+v", got.Order)
	}
}
