package operator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// counter is a desk in front of an API of the test's, without patience. answers
// holds what each path answers, look by look; the last one stays.
func counter(t *testing.T, answers map[string][]any) (d *desk, stdout, stderr *strings.Builder) {
	t.Helper()
	looks := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/admin/v1")
		all := answers[path]
		if len(all) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all[min(looks[path], len(all)-1)])
		looks[path]++
	}))
	t.Cleanup(server.Close)
	client, err := adminapi.New(adminapi.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	stdout, stderr = &strings.Builder{}, &strings.Builder{}
	return &desk{Client: client, Process: shell.Process{Stdout: stdout, Stderr: stderr}, self: "outbox-relay dlq"}, stdout, stderr
}

func TestWaitIsExplained(t *testing.T) {
	paused := adminapi.List[adminapi.Lane]{Items: []adminapi.Lane{
		{Lane: contracts.CriticalLane, Paused: true, PausedBy: "alice", PauseReason: "the consumer moves"}, {Lane: contracts.StandardLane},
	}}
	running := adminapi.List[adminapi.Lane]{Items: []adminapi.Lane{{Lane: contracts.CriticalLane}}}
	replaying := func(lane contracts.Lane) adminapi.Item {
		return adminapi.Item{ID: "x", Lane: lane, Outbox: "accOutbox", PendingTargets: []string{"FUNNEL"}, Replaying: &adminapi.Request{}}
	}
	targets := func(out string) adminapi.TargetList {
		l := adminapi.TargetList{Instance: "relay-1", Items: []adminapi.Target{{Target: "CLAIMS_HANDLER", State: "closed"}, {Target: "FUNNEL", State: "closed"}}}
		for n := range l.Items {
			if l.Items[n].Target == out {
				l.Items[n].State, l.Items[n].Reason = "open", "Unavailable"
			}
		}
		return l
	}
	const unseen, unknown = "still waiting; what for cannot be seen here", "still waiting; what for is not known: its lane is not paused, its outbox has its owner, and relay-1 sees none of its targets out\n"
	outboxes := func(of ...adminapi.Outbox) adminapi.List[adminapi.Outbox] {
		return adminapi.List[adminapi.Outbox]{Items: of}
	}
	owned := outboxes(adminapi.Outbox{Outbox: "accOutbox", Shards: 1, Owner: "relay-2", Lease: "held"}, adminapi.Outbox{Outbox: "wsOutbox", Shards: 1, Lease: "free"})
	expired := adminapi.Outbox{Outbox: "accOutbox", Shard: 1, Shards: 2, Owner: "relay-2", Lease: "expired"}
	for _, tc := range []struct {
		name           string
		lane           contracts.Lane
		lanes, targets any // nil: not to be seen
		want           string
		outboxes       any // nil: its owner relays it
	}{
		{"its lane is paused", contracts.CriticalLane, paused, nil, "still waiting: CRITICAL_LANE is paused by alice: the consumer moves\n", nil},
		{"another lane is paused", contracts.StandardLane, paused, targets(""), unknown, nil},
		{"its target is out", contracts.CriticalLane, running, targets("FUNNEL"), "still waiting: FUNNEL is out (Unavailable), as relay-1 sees it\n", nil},
		{"its target is out, and the lanes cannot be seen", contracts.CriticalLane, nil, targets("FUNNEL"), "still waiting: FUNNEL is out (Unavailable), as relay-1 sees it\n", nil},
		{"another target is out", contracts.CriticalLane, running, targets("CLAIMS_HANDLER"), unknown, nil},
		{"the targets cannot be seen", contracts.CriticalLane, running, nil, unseen, nil},
		{"who paused the lanes is not known", contracts.CriticalLane, adminapi.Lanes{Items: running.Items, Warning: "Firestore cannot be reached"}, targets(""), unseen, nil},
		{"the lanes cannot be seen", contracts.CriticalLane, nil, targets(""), unseen, nil},
		{
			"its owner hangs", contracts.CriticalLane, running, targets(""),
			"still waiting: accOutbox.1 is not relayed: its lease is expired, its owner relay-2 hangs, crashed, or cannot renew it\n", outboxes(expired),
		},
		{
			"nobody relays it", contracts.CriticalLane, running, nil,
			"still waiting: accOutbox is not relayed: its lease is free, nobody owns it\n", outboxes(adminapi.Outbox{Outbox: "accOutbox", Shards: 1, Lease: "free"}),
		},
		{"another catalog has it", contracts.CriticalLane, running, targets(""), unseen, outboxes()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answers := map[string][]any{"/dlq/x": {replaying(tc.lane), replaying(tc.lane), adminapi.Item{State: contracts.DeadReplayed}}}
			if tc.outboxes == nil {
				tc.outboxes = owned
			}
			for path, answer := range map[string]any{"/lanes": tc.lanes, "/targets": tc.targets, "/outboxes": tc.outboxes} {
				if answer != nil {
					answers[path] = []any{answer}
				}
			}
			d, stdout, stderr := counter(t, answers)
			if err := d.await(t.Context(), "x", 0); err != nil {
				t.Fatal(err)
			}
			if got := stderr.String(); !strings.HasPrefix(got, tc.want) || strings.Count(got, "still waiting") != 1 || stdout.String() != "delivered\n" {
				t.Errorf("told %q and %q, want %q once", stdout, got, tc.want)
			}
		})
	}
	t.Run("a bulk replay", func(t *testing.T) {
		bulk := func(state dlq.BulkState, replaying int) adminapi.Bulk {
			return adminapi.Bulk{State: state, Total: 2, Replaying: replaying, Delivered: 2 - replaying}
		}
		d, _, stderr := counter(t, map[string][]any{"/replays/b": {bulk(dlq.BulkRunning, 2), bulk(dlq.BulkRunning, 2), bulk(dlq.BulkDone, 0)}, "/lanes": {paused}, "/targets": {targets("FUNNEL")}, "/outboxes": {outboxes(expired)}})
		if err := d.follow(t.Context(), "b", true); err != nil {
			t.Fatal(err)
		}
		want := "still waiting; what of it is concerned waits: CRITICAL_LANE is paused by alice: the consumer moves; " +
			"accOutbox.1 is not relayed: its lease is expired, its owner relay-2 hangs, crashed, or cannot renew it; FUNNEL is out (Unavailable), as relay-1 sees it\n"
		if got := stderr.String(); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func TestEndThatIsNoFailureIsNotToldAsOne(t *testing.T) {
	waits := adminapi.Item{State: contracts.DeadAwaitingReview, Replays: 1, Replaying: &adminapi.Request{}, Errors: []adminapi.Attempt{{Code: "Internal", Message: "long ago"}}}
	ended := func(change func(*adminapi.Item)) adminapi.Item {
		i := waits
		i.Replaying = nil
		change(&i)
		return i
	}
	for _, tc := range []struct {
		name  string
		looks []any
		want  string
	}{
		{"it failed", []any{waits, ended(func(i *adminapi.Item) { i.Replays = 2 })}, "the replay failed: Internal: long ago"},
		{"it had ended before the first look", []any{ended(func(i *adminapi.Item) { i.Replays = 2 })}, "the replay failed: Internal: long ago"},
		{"it was taken back before it was seen", []any{ended(func(*adminapi.Item) {})}, "the replay ended without a delivery or a failure: it is awaiting_review now"},
		{"it was taken back", []any{waits, ended(func(*adminapi.Item) {})}, "the replay ended without a delivery or a failure: it is awaiting_review now"},
		{"it was given up", []any{waits, ended(func(i *adminapi.Item) { i.State = contracts.DeadDiscarded })}, "it was given up while its replay was waited for"},
	} {
		d, _, _ := counter(t, map[string][]any{"/dlq/x": tc.looks})
		if err := d.await(t.Context(), "x", waits.Replays); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestStandstillIsToldOnceItIsLong(t *testing.T) {
	s := &standstill{patience: time.Hour, since: time.Now()}
	told := 0
	look := func(at string) { s.look(context.Background(), at, func() { told++ }) }
	look("a")
	s.since = time.Now().Add(-2 * time.Hour)
	look("b") // it has got on
	if told != 0 {
		t.Error("told though it gets on")
	}
	s.since = time.Now().Add(-2 * time.Hour)
	look("b")
	look("b")
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
}

func TestDeliveredBlockTellsOfItsFreeze(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tier  contracts.Tier
		trace any
		want  string
	}{
		{
			"frozen", contracts.SecurityBlock,
			adminapi.Timeline{Freezes: []adminapi.Freeze{{AggregateID: "b", State: dlq.Frozen}, {AggregateID: "a 1", State: dlq.Frozen}}},
			"delivered\na 1 is still frozen, and its later records are held; to release it:\noutbox-relay dlq release 'a 1' --reason '...'\n",
		},
		{"being released", contracts.SecurityBlock, adminapi.Timeline{Freezes: []adminapi.Freeze{{AggregateID: "a 1", State: dlq.Releasing}}}, "delivered\n"},
		{"not frozen", contracts.SecurityBlock, adminapi.Timeline{}, "delivered\n"},
		{"of another tier", contracts.ReviewRequired, adminapi.Timeline{Freezes: []adminapi.Freeze{{AggregateID: "a 1", State: dlq.Frozen}}}, "delivered\n"},
		{"not known", contracts.SecurityBlock, nil, "delivered\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answers := map[string][]any{"/dlq/x": {adminapi.Item{State: contracts.DeadReplayed, Tier: tc.tier, AggregateID: "a 1", TraceID: "t"}}}
			if tc.trace != nil {
				answers["/trace/t"] = []any{tc.trace}
			}
			d, stdout, stderr := counter(t, answers)
			if err := d.await(t.Context(), "x", 0); err != nil {
				t.Fatal(err)
			}
			if stdout.String() != tc.want || (tc.trace == nil) != strings.Contains(stderr.String(), "not known whether a 1 is still frozen") {
				t.Errorf("told %q and %q, want %q", stdout, stderr, tc.want)
			}
		})
	}
}

func TestEmptyPageWithMoreBehindIt(t *testing.T) {
	d, stdout, stderr := counter(t, nil)
	if err := d.endPage(shell.NewTable(io.Discard, "HEAD"), 0, "dead letters", "n"); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "no dead letters on this page\n" || !strings.Contains(stderr.String(), "--page-token n") {
		t.Errorf("told %q and %q", stdout, stderr)
	}
}

func TestWaitTellsWhatIsNoted(t *testing.T) {
	const funnel = "FUNNEL is out (Unavailable), as relay-1 sees it"
	for _, tc := range []struct {
		name  string
		noted adminapi.Waits
		out   bool // as the instance sees it that answers
		want  string
	}{
		{"an older one", adminapi.Waits{Behind: "older\x1b"}, false, "older\uFFFD, an older dead letter of its aggregate, comes first"},
		{"a target that another instance found out", adminapi.Waits{Targets: []string{"FUNNEL"}}, false, "FUNNEL did not answer whoever relays it"},
		{"a target that both found out", adminapi.Waits{Targets: []string{"FUNNEL"}}, true, funnel},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := adminapi.Target{Target: "FUNNEL", State: "closed"}
			if tc.out {
				state = adminapi.Target{Target: "FUNNEL", State: "open", Reason: "Unavailable"}
			}
			waits := adminapi.Item{ID: "x", Outbox: "accOutbox", Lane: contracts.CriticalLane, PendingTargets: []string{"FUNNEL"}, Replaying: &adminapi.Request{Waits: tc.noted}}
			d, _, stderr := counter(t, map[string][]any{
				"/dlq/x":    {waits, waits, adminapi.Item{State: contracts.DeadReplayed}},
				"/lanes":    {adminapi.List[adminapi.Lane]{}},
				"/targets":  {adminapi.TargetList{Instance: "relay-1", Items: []adminapi.Target{state}}},
				"/outboxes": {adminapi.List[adminapi.Outbox]{Items: []adminapi.Outbox{{Outbox: "accOutbox", Owner: "relay-2", Lease: "held"}}}},
			})
			if err := d.await(t.Context(), "x", 0); err != nil {
				t.Fatal(err)
			}
			if got, want := stderr.String(), "still waiting: "+tc.want+"\n"; !strings.HasPrefix(got, want) {
				t.Errorf("told %q, want %q", got, want)
			}
		})
	}
}
