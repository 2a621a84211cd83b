package firestore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
)

func TestAudit(t *testing.T) {
	f := setup(t, newCloud(t))
	i := f.die("accOutbox", "WalletDeducted", "a1", 1)
	f.decide(i.ID, dlq.Note, operator)
	f.decide(i.ID, dlq.Note, security)
	f.decide(i.ID, dlq.Discard, operator)
	turned := &dlq.Entry{Actor: viewer.Name, Role: viewer.Role, Action: "refused", Subject: dlq.SubjectAccess, On: "/dlq", Reason: "no role"}
	if err := f.queue.Record(t.Context(), turned); err != nil || turned.ID == "" {
		t.Fatalf("got %q, %v, want it recorded", turned.ID, err)
	}
	for _, tc := range []struct {
		name   string
		filter dlq.AuditFilter
		want   []string // the latest first
	}{
		{"everything", dlq.AuditFilter{}, []string{"refused", "discard", "note", "note"}},
		{"actor", dlq.AuditFilter{Actor: security.Name}, []string{"note"}},
		{"action", dlq.AuditFilter{Action: "note"}, []string{"note", "note"}},
		{"subject", dlq.AuditFilter{Subject: dlq.SubjectAccess}, []string{"refused"}},
		{"on", dlq.AuditFilter{On: i.ID}, []string{"discard", "note", "note"}},
		{"trace", dlq.AuditFilter{TraceID: i.TraceID}, []string{"discard", "note", "note"}},
		{"together", dlq.AuditFilter{Actor: operator.Name, Action: "note", Subject: dlq.SubjectDeadLetter, On: i.ID, TraceID: i.TraceID}, []string{"note"}},
		{"from", dlq.AuditFilter{From: time.Now().Add(time.Hour)}, nil},
		{"to", dlq.AuditFilter{To: time.Now().Add(-time.Hour)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			p := dlq.Page{Limit: 2}
			for {
				page, err := f.queue.Audit(t.Context(), tc.filter, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Items {
					got = append(got, e.Action)
				}
				if page.Next == "" {
					break
				}
				p.Token = page.Next
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
	for _, filter := range []dlq.AuditFilter{{Subject: "weather"}, {From: f.now, To: f.now}, {Actor: "\xff"}} {
		_, err := f.queue.Audit(t.Context(), filter, dlq.Page{})
		refused(t, err, dlq.Invalid)
	}
}
