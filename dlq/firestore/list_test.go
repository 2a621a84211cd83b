package firestore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// pages reads a list to its end and calls between after each page.
func (f *fixture) pages(filter dlq.Filter, limit int, between func()) (ids []string) {
	f.t.Helper()
	p := dlq.Page{Limit: limit}
	for {
		got, err := f.queue.List(f.t.Context(), filter, p)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(got.Items) > limit {
			f.t.Fatalf("a page of %d, want at most %d", len(got.Items), limit)
		}
		for _, i := range got.Items {
			ids = append(ids, i.ID)
		}
		if got.Next == "" {
			return ids
		}
		p.Token = got.Next
		between()
	}
}

func testStablePages(t *testing.T, f *fixture) {
	var want []string
	start := f.now
	for n := range 23 {
		f.now = start.Add(time.Duration(n/3) * time.Second) // three of each time
		want = append(want, f.die("wsOutbox", "Anything", fmt.Sprint("w", n), 1).ID)
	}
	f.now = start.Add(time.Hour)
	arrived := 0
	got := f.pages(dlq.Filter{Outbox: "wsOutbox"}, 4, func() {
		arrived++
		f.die("wsOutbox", "Anything", fmt.Sprint("late", arrived), 1)
		f.end(want[0], "Internal") // and what is behind changes
	})
	slices.Sort(want)
	sorted := slices.Sorted(slices.Values(got))
	if diff := cmp.Diff(want, sorted); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	if all := f.pages(dlq.Filter{}, 200, nil); len(all) != 23+arrived {
		t.Errorf("%d listed on one page, want %d", len(all), 23+arrived)
	}
}

func TestListFilters(t *testing.T) {
	f := setup(t, newCloud(t))
	wallet := f.die("accOutbox", "WalletDeducted", "a1", 1)
	f.now = f.now.Add(time.Minute)
	letter := f.letter("accOutbox", "RoleChanged", "a2", 1)
	letter.Consumer = "notifications"
	role := f.bury(letter)
	f.now = f.now.Add(time.Minute)
	tag := f.die("tagOutbox", "TagLifecycleEvent", "t1", 1)
	f.decide(wallet.ID, dlq.Discard, operator)
	for _, tc := range []struct {
		name   string
		filter dlq.Filter
		want   []*dlq.Item // the latest first
	}{
		{"everything", dlq.Filter{}, []*dlq.Item{tag, role, wallet}},
		{"open", dlq.Filter{Open: new(true)}, []*dlq.Item{tag, role}},
		{"closed", dlq.Filter{Open: new(false)}, []*dlq.Item{wallet}},
		{"event", dlq.Filter{EventID: role.EventID}, []*dlq.Item{role}},
		{"event type", dlq.Filter{EventType: "TagLifecycleEvent"}, []*dlq.Item{tag}},
		{"trace", dlq.Filter{TraceID: role.TraceID}, []*dlq.Item{role}},
		{"aggregate", dlq.Filter{AggregateID: "a1"}, []*dlq.Item{wallet}},
		{"tier", dlq.Filter{Tier: contracts.SecurityBlock}, []*dlq.Item{role}},
		{"state", dlq.Filter{State: contracts.DeadScheduled}, []*dlq.Item{tag}},
		{"outbox", dlq.Filter{Outbox: "accOutbox"}, []*dlq.Item{role, wallet}},
		{"lane", dlq.Filter{Lane: contracts.BackgroundLane}, []*dlq.Item{tag}},
		{"reason", dlq.Filter{Reason: contracts.AttemptsExhausted}, []*dlq.Item{tag, role, wallet}},
		{"group", dlq.Filter{Group: role.Group}, []*dlq.Item{role}},
		{"consumer", dlq.Filter{Consumer: "notifications"}, []*dlq.Item{role}},
		{"another consumer", dlq.Filter{Consumer: "analytics"}, nil},
		{"from", dlq.Filter{From: role.DeadAt}, []*dlq.Item{tag, role}},
		{"to", dlq.Filter{To: role.DeadAt}, []*dlq.Item{wallet}},
		{"all at once", dlq.Filter{
			EventID: role.EventID, EventType: "RoleChanged", TraceID: role.TraceID, AggregateID: "a2", Tier: contracts.SecurityBlock, State: contracts.DeadBlocked,
			Outbox: "accOutbox", Lane: contracts.CriticalLane, Reason: contracts.AttemptsExhausted, Group: role.Group, Consumer: "notifications", Open: new(true), From: role.DeadAt, To: tag.DeadAt,
		}, []*dlq.Item{role}},
		{"nothing", dlq.Filter{Outbox: "accOutbox", EventType: "TagLifecycleEvent"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []string
			for _, i := range tc.want {
				want = append(want, i.ID)
			}
			if diff := cmp.Diff(want, f.pages(tc.filter, 1, func() {})); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
		})
	}
	got, err := f.queue.List(t.Context(), dlq.Filter{EventID: role.EventID}, dlq.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := f.item(role.ID)
	want.Record = nil
	if diff := cmp.Diff(want, got.Items[0]); diff != "" {
		t.Errorf("a listed item is the item without its record (-want +got):\n%s", diff)
	}
}

func TestListRefuses(t *testing.T) {
	f := setup(t, newCloud(t))
	for n := range 3 {
		f.die("wsOutbox", "Anything", fmt.Sprint("w", n), 1)
	}
	first, err := f.queue.List(t.Context(), dlq.Filter{Outbox: "wsOutbox"}, dlq.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		filter dlq.Filter
		page   dlq.Page
		says   []string
	}{
		{"a token of another filter", dlq.Filter{}, dlq.Page{Token: first.Next}, []string{"another filter"}},
		{"a damaged token", dlq.Filter{Outbox: "wsOutbox"}, dlq.Page{Token: first.Next[1:]}, []string{"damaged"}},
		{"no token at all", dlq.Filter{Outbox: "wsOutbox"}, dlq.Page{Token: "!"}, []string{"damaged"}},
		{"a large page", dlq.Filter{}, dlq.Page{Limit: dlq.MaxPage + 1}, []string{"201"}},
		{"a negative page", dlq.Filter{}, dlq.Page{Limit: -1}, []string{"-1"}},
		{"bad values, each named", dlq.Filter{
			Tier: "MILD", State: "gone", Lane: "FAST", Reason: "BAD", From: f.now, To: f.now, EventID: strings.Repeat("x", 1501), TraceID: "\xff",
		}, dlq.Page{}, []string{`"MILD"`, `"gone"`, `"FAST"`, `"BAD"`, "not before", "eventId", "traceId"}},
		{"a contradiction", dlq.Filter{State: contracts.DeadReplayed, Open: new(true)}, dlq.Page{}, []string{"exclude"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := f.queue.List(t.Context(), tc.filter, tc.page)
			r := refusal(t, err)
			if r.Kind != dlq.Invalid {
				t.Errorf("got %s, want it invalid", r.Kind)
			}
			for _, s := range tc.says {
				if !strings.Contains(r.Detail, s) {
					t.Errorf("%q does not say %s", r.Detail, s)
				}
			}
		})
	}
	_, err = f.queue.Freezes(t.Context(), dlq.Page{Token: first.Next})
	refused(t, err, dlq.Invalid) // a token of another list
}

func testGroups(t *testing.T, f *fixture) {
	start := f.now
	for n := range 3 {
		f.now = start.Add(time.Duration(n) * time.Minute)
		f.die("accOutbox", "WalletDeducted", fmt.Sprint("a", n), 1)
	}
	closed := f.die("accOutbox", "WalletCredited", "b", 1)
	f.decide(closed.ID, dlq.Discard, operator)
	tag := f.die("tagOutbox", "TagLifecycleEvent", "t", 1)
	type line struct {
		EventType, Code, Error string
		Count                  int64
		First, Last            time.Time
	}
	groups := func(filter dlq.Filter, limit int) (out []line) {
		t.Helper()
		p := dlq.Page{Limit: limit}
		for {
			got, err := f.queue.Groups(t.Context(), filter, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range got.Items {
				out = append(out, line{g.EventType, g.Code, g.Error, g.Count, g.FirstSeen, g.LastSeen})
			}
			if got.Next == "" {
				return out
			}
			p.Token = got.Next
		}
	}
	wallets := line{"WalletDeducted", "Internal", "no <n> said <text>", 3, start, f.now}
	tags := line{"TagLifecycleEvent", "Internal", "no <n> said <text>", 1, f.now, f.now}
	gone := line{"WalletCredited", "Internal", "no <n> said <text>", 1, f.now, f.now}
	for _, tc := range []struct {
		name   string
		filter dlq.Filter
		want   []line
	}{
		{"open ones, the most numerous first", dlq.Filter{}, []line{wallets, tags}},
		{"closed ones", dlq.Filter{Open: new(false)}, []line{gone}},
		{"of a state", dlq.Filter{State: contracts.DeadDiscarded}, []line{gone}},
		{"of an outbox", dlq.Filter{Outbox: "tagOutbox"}, []line{tags}},
		{"of an event type", dlq.Filter{EventType: "WalletDeducted"}, []line{wallets}},
		{"of a time", dlq.Filter{To: start.Add(time.Second)}, []line{{"WalletDeducted", "Internal", "no <n> said <text>", 1, start, start}}},
		{"one group", dlq.Filter{Group: tag.Group}, []line{tags}},
		{"no group", dlq.Filter{Group: "none"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, groups(tc.filter, 10)); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
	if got := groups(dlq.Filter{}, 1); len(got) != 2 {
		t.Errorf("page by page: %v, want 2 groups", got)
	}
}
