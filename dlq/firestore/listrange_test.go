package firestore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
)

// A range that counts back from now is another one for each page. A page goes on
// where the one before ended, within the range as it is then.
func testPagesOfAMovingRange(t *testing.T, f *fixture) {
	start := f.now
	var latestFirst []string
	for n := range 5 {
		f.now = start.Add(time.Duration(n) * time.Minute)
		latestFirst = append([]string{f.die("accOutbox", "WalletDeducted", fmt.Sprint("m", n), 1).ID}, latestFirst...)
	}
	first, err := f.queue.List(t.Context(), dlq.Filter{Outbox: "accOutbox", From: start, To: start.Add(time.Hour)}, dlq.Page{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		moved time.Duration
		want  []string
	}{
		{"not at all", 0, latestFirst[2:]},
		{"past the oldest", time.Second, latestFirst[2:4]},
		{"past where the page ended", 4 * time.Minute, nil},
	} {
		next, err := f.queue.List(t.Context(), dlq.Filter{Outbox: "accOutbox", From: start.Add(tc.moved), To: start.Add(time.Hour + tc.moved)}, dlq.Page{Token: first.Next})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, i := range next.Items {
			got = append(got, i.ID)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: the next page (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestPagesOfGroupsAndAuditOfAMovingRange(t *testing.T) {
	f := setup(t, newCloud(t))
	since := f.now.Add(-time.Hour)
	f.decide(f.die("accOutbox", "WalletDeducted", "a", 1).ID, dlq.Note, operator)
	f.decide(f.die("accOutbox", "WalletCredited", "b", 1).ID, dlq.Note, operator)

	groups := make(map[string]bool)
	for n, p := 0, (dlq.Page{Limit: 1}); n == 0 || p.Token != ""; n++ {
		got, err := f.queue.Groups(t.Context(), dlq.Filter{From: since.Add(time.Duration(n) * time.Second)}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range got.Items {
			groups[g.ID] = true
		}
		p.Token = got.Next
	}
	if len(groups) != 2 {
		t.Errorf("%d groups on all pages, want 2", len(groups))
	}

	entries := make(map[string]bool)
	for n, p := 0, (dlq.Page{Limit: 1}); n == 0 || p.Token != ""; n++ {
		got, err := f.queue.Audit(t.Context(), dlq.AuditFilter{Action: string(dlq.Note), From: time.Unix(int64(n), 0)}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Items {
			entries[e.ID] = true
		}
		p.Token = got.Next
	}
	if len(entries) != 2 {
		t.Errorf("%d entries on all pages, want 2", len(entries))
	}
}
