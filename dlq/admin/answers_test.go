package admin_test

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestRecordsThatJSONCannotHold(t *testing.T) {
	f := setup(t)
	f.queue.item.Record = map[string]any{
		"nan": math.NaN(), "list": []any{math.Inf(1), map[string]any{"x": math.Inf(-1)}}, "at": died, "bytes": []byte("ab"), "null": nil, "n": int64(1) << 60,
	}
	got := read[admin.DeadLetterDetail](f.do("dev-viewer", http.MethodGet, "/dlq/x", ""), http.StatusOK)
	want := map[string]any{
		"nan": "NaN", "list": []any{"+Inf", map[string]any{"x": "-Inf"}}, "at": "2026-03-01T10:00:00.123456Z", "bytes": "YWI=", "null": nil, "n": float64(1 << 60),
	}
	if diff := cmp.Diff(want, got.Record); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestETagAndIfMatch(t *testing.T) {
	f := setup(t)
	a := f.do("dev-viewer", http.MethodGet, "/dlq/x", "")
	tag := a.header.Get("ETag")
	if got := read[admin.DeadLetterDetail](a, http.StatusOK); got.ETag != tag || tag == "" {
		t.Errorf("the header says %q, the body %q", tag, got.ETag)
	}
	for _, tt := range []struct {
		name, header string
		seen         time.Time
	}{{"none", "", time.Time{}}, {"any", "*", time.Time{}}, {"what was seen", tag, died}} {
		a := f.do("dev-operator", http.MethodPost, "/dlq/x/discard", because, "If-Match", tt.header)
		read[admin.Decided](a, http.StatusOK)
		if !f.queue.decide.Seen.Equal(tt.seen) || a.header.Get("ETag") == "" {
			t.Errorf("%s: decided about what was seen at %v, want %v", tt.name, f.queue.decide.Seen, tt.seen)
		}
	}
	before := len(f.queue.asked())
	for header, status := range map[string]int{
		`"of another"`: 412, `"***"`: 412, "W/" + tag: 412, `"` + strings.Repeat("z", 40) + `"`: 412, `"0` + tag[1:]: 412,
		"bare": 400, `"a", "b"`: 400, `"`: 400,
	} {
		f.do("dev-operator", http.MethodPost, "/dlq/x/discard", because, "If-Match", header).refused(status, "entity tag")
	}
	if after := len(f.queue.asked()); after != before {
		t.Error("the queue was asked")
	}
}

func TestDecisions(t *testing.T) {
	for path, action := range map[string]dlq.Action{"replay": dlq.Replay, "discard": dlq.Discard, "authorize": dlq.Authorize, "withdraw": dlq.Withdraw, "notes": dlq.Note} {
		f := setup(t)
		status := http.StatusOK
		if action == dlq.Replay {
			status = http.StatusAccepted
		}
		got := read[admin.Decided](f.do("dev-security", http.MethodPost, "/dlq/x/"+path, because), status)
		want := dlq.Decide{Action: action, Actor: dlq.Actor{Name: "dev-security", Role: dlq.Security}, Reason: "because"}
		if f.queue.decide != want {
			t.Errorf("%s: decided %+v, want %+v", path, f.queue.decide, want)
		}
		if got.Decision.Action != action || got.Decision.ID != "decision" || got.Decision.By != "dev-security" || got.Item.ID != letter().ID {
			t.Errorf("%s: got %+v", path, got.Decision)
		}
		if (got.Order != nil) != (action == dlq.Replay) {
			t.Errorf("%s: the order is %+v", path, got.Order)
		}
	}
}

func TestPossible(t *testing.T) {
	tests := []struct {
		name   string
		who    string
		change func(*fakeQueue)
		want   map[dlq.Action]string // part of why not; "" for what is allowed
	}{
		{"operator reviews", "dev-operator", nil, map[dlq.Action]string{"replay": "", "discard": "", "withdraw": "nothing to withdraw", "authorize": "only SECURITY_BLOCK", "note": ""}},
		{"viewer", "dev-viewer", nil, map[dlq.Action]string{"replay": "needs the role operator", "discard": "needs the role operator", "authorize": "only SECURITY_BLOCK", "note": "needs the role operator"}},
		{"older first", "dev-operator", func(q *fakeQueue) { q.older = []*dlq.Item{{ID: "older"}} }, map[dlq.Action]string{"replay": "comes first: older", "discard": "", "note": ""}},
		{"being replayed", "dev-operator", func(q *fakeQueue) { q.item.Replaying = &dlq.Request{By: "alice"} }, map[dlq.Action]string{"replay": "that alice asked for", "discard": "", "withdraw": "", "note": ""}},
		{"closed", "dev-security", func(q *fakeQueue) { q.item.State = contracts.DeadReplayed }, map[dlq.Action]string{"replay": "replayed already", "discard": "replayed already", "authorize": "replayed already", "note": ""}},
		{"by itself", "dev-operator", func(q *fakeQueue) { q.item.Tier, q.item.State = contracts.SafeAuto, contracts.DeadScheduled }, map[dlq.Action]string{"replay": "", "discard": "by itself", "note": ""}},
		{"its outbox is gone", "dev-operator", func(q *fakeQueue) {
			q.item.Tier, q.item.State, q.item.Outbox = contracts.SafeAuto, contracts.DeadScheduled, "goneOutbox"
		}, map[dlq.Action]string{"replay": "no instance has its outbox goneOutbox", "discard": "", "note": ""}},
		{"blocked, operator", "dev-operator", block(contracts.DeadBlocked, "", "RoleChanged"), map[dlq.Action]string{"replay": "not authorized", "authorize": "needs the role security", "discard": "needs the role security", "note": ""}},
		{"blocked, security", "dev-security", block(contracts.DeadBlocked, "", "RoleChanged"), map[dlq.Action]string{"replay": "not authorized", "authorize": "", "discard": ""}},
		{"authorized, other", "dev-operator", block(contracts.DeadAuthorized, "dev-security", "PolicyChanged"), map[dlq.Action]string{"replay": "", "withdraw": "needs the role security", "authorize": "needs the role security"}},
		{"authorized, same, one is enough", "dev-security", block(contracts.DeadAuthorized, "dev-security", "RoleChanged"), map[dlq.Action]string{"replay": "", "withdraw": "", "authorize": "authorized already, by dev-security"}},
		{"authorized, same, two persons", "dev-security", block(contracts.DeadAuthorized, "Dev-Security", "PolicyChanged"), map[dlq.Action]string{"replay": "asks for two persons"}},
		{"authorized, same, event not known any more", "dev-security", block(contracts.DeadAuthorized, "dev-security", "Gone"), map[dlq.Action]string{"replay": "asks for two persons"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := setup(t, func(c *admin.Config) { c.Catalog.Outbox("accOutbox").Route("PolicyChanged").TwoPersonRule = true })
			if tt.change != nil {
				tt.change(f.queue)
			}
			got := read[admin.DeadLetterDetail](f.do(tt.who, http.MethodGet, "/dlq/x", ""), http.StatusOK)
			byAction := make(map[dlq.Action]admin.Possible)
			for _, p := range got.Actions {
				byAction[p.Action] = p
			}
			if len(byAction) != 5 {
				t.Errorf("got %v, want five actions", got.Actions)
			}
			for action, why := range tt.want {
				p := byAction[action]
				if p.Allowed != (why == "") || !strings.Contains(p.Why, why) || !p.Allowed && p.Hint == "" {
					t.Errorf("%s: got %+v, want allowed %t because %q", action, p, why == "", why)
				}
			}
		})
	}
}

func block(state contracts.DeadState, by, eventType string) func(*fakeQueue) {
	return func(q *fakeQueue) {
		q.item.Tier, q.item.State, q.item.AuthorizedBy, q.item.EventType = contracts.SecurityBlock, state, by, eventType
	}
}

// TestPossibleIsWhatTheQueueDoes compares what the API promises with what a real
// queue then does, also about dead letters whose outbox the catalog has no more.
func TestPossibleIsWhatTheQueueDoes(t *testing.T) {
	thorough.Long(t)
	q := embedded(t)
	f := setup(t, over(q, q.catalog), unlimited)
	paths := map[dlq.Action]string{"replay": "replay", "authorize": "authorize", "withdraw": "withdraw", "discard": "discard", "note": "notes"}
	states := map[string]func() *dlq.Item{
		"scheduled": func() *dlq.Item { return q.die("AccountCreated") },
		"awaiting":  func() *dlq.Item { return q.die("WalletDeducted") },
		"replaying": func() *dlq.Item { return f.after(q.die("WalletDeducted"), "replay") },
		"discarded": func() *dlq.Item { return f.after(q.die("WalletDeducted"), "discard") },
		"blocked":   func() *dlq.Item { return q.die("RoleChanged") },
		"approved":  func() *dlq.Item { return f.after(q.die("RoleChanged"), "authorize") },
		"asked for": func() *dlq.Item { return f.after(f.after(q.die("RoleChanged"), "authorize"), "replay") },
		"hastened":  func() *dlq.Item { return f.after(q.die("AccountCreated"), "replay") },
	}
	for state, item := range maps.Clone(states) {
		states[state+" of an outbox that is gone"] = func() *dlq.Item { return q.orphan(item()) }
	}
	cases := 0
	for state, item := range states {
		for _, who := range []string{"dev-viewer", "dev-operator", "dev-security", "dev-security-2"} {
			for action, path := range paths {
				cases++
				id := url.PathEscape(item().ID)
				detail := read[admin.DeadLetterDetail](f.do(who, http.MethodGet, "/dlq/"+id, ""), http.StatusOK)
				promised := false
				for _, p := range detail.Actions {
					promised = promised || p.Action == action && p.Allowed
				}
				a := f.do(who, http.MethodPost, "/dlq/"+id+"/"+path, because)
				if done := a.status < 300; done != promised {
					t.Errorf("%s of %s by %s: promised %t, got %d: %s", action, state, who, promised, a.status, a.body)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// after decides about an item and returns it.
func (f *fixture) after(i *dlq.Item, path string) *dlq.Item {
	f.t.Helper()
	if a := f.do("dev-security", http.MethodPost, "/dlq/"+url.PathEscape(i.ID)+"/"+path, because); a.status >= 300 {
		f.t.Fatalf("%s: got %d: %s", path, a.status, a.body)
	}
	return i
}

func TestRealIfMatch(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog))
	target := "/dlq/" + url.PathEscape(q.die("WalletDeducted").ID)
	old := f.do("dev-viewer", http.MethodGet, target, "").header.Get("ETag")
	noted := f.do("dev-operator", http.MethodPost, target+"/notes", because, "If-Match", old)
	now := noted.header.Get("ETag")
	if d := read[admin.Decided](noted, http.StatusOK); len(d.Item.Decisions) != 1 || now == old {
		t.Errorf("got %+v with %s after %s", d.Item.Decisions, now, old)
	}
	f.do("dev-operator", http.MethodPost, target+"/discard", because, "If-Match", old).refused(http.StatusPreconditionFailed, "changed since")
	read[admin.Decided](f.do("dev-operator", http.MethodPost, target+"/discard", because, "If-Match", now), http.StatusOK)
	f.do("dev-operator", http.MethodPost, target+"/discard", because).refused(http.StatusConflict, "discarded already")

	first := q.die("RoleChanged")
	freeze := "/freezes/" + url.PathEscape(first.AggregateID)
	saw := read[admin.FreezeDetail](f.do("dev-viewer", http.MethodGet, freeze, ""), http.StatusOK).ETag
	q.dieOf("RoleChanged", first.AggregateID)
	f.do("dev-security", http.MethodPost, freeze+"/release", because, "If-Match", saw).refused(http.StatusPreconditionFailed, "changed since")
	saw = read[admin.FreezeDetail](f.do("dev-viewer", http.MethodGet, freeze, ""), http.StatusOK).ETag
	read[admin.Released](f.do("dev-security", http.MethodPost, freeze+"/release", because, "If-Match", saw), http.StatusAccepted)
}

func TestBulkReplays(t *testing.T) {
	f := setup(t)
	dry := read[admin.Selection](f.do("dev-operator", http.MethodPost, "/replays", `{"filter":{"open":true,"from":"2026-03-01T00:00:00Z"},"dryRun":true}`), http.StatusOK)
	if !dry.DryRun || dry.Total != 1 || dry.Items[0].ID != letter().ID || dry.Refused == nil {
		t.Errorf("got %+v", dry)
	}
	if f.queue.filter.Open == nil || !*f.queue.filter.Open || f.queue.filter.From.IsZero() {
		t.Errorf("selected %+v", f.queue.filter)
	}
	a := f.do("dev-operator", http.MethodPost, "/replays", `{"filter":{"group":"g"},"ratePerSecond":2.5,"reason":"mended"}`)
	b := read[admin.Bulk](a, http.StatusAccepted)
	if got := a.header.Get("Location"); got != "/admin/v1/replays/bulk%201" || b.By != "dev-operator" || b.Filter.Group != "g" {
		t.Errorf("got %+v at %s", b, got)
	}
	want := dlq.BulkRequest{Filter: dlq.Filter{Group: "g"}, RatePerSecond: 2.5, Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: "mended"}
	if diff := cmp.Diff(want, f.queue.bulk); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	for body, reason := range map[string]string{"": "", "{}": "", because: "because"} {
		read[admin.Bulk](f.do("dev-operator", http.MethodPost, "/replays/b/cancel", body), http.StatusOK)
		if f.queue.bulk.Reason != reason {
			t.Errorf("%q: cancelled because of %q", body, f.queue.bulk.Reason)
		}
	}
	f.do("dev-operator", http.MethodPost, "/replays/b/cancel", `{"why":"x"}`).refused(http.StatusUnprocessableEntity, "body.why")
	// The filter of an answer is as it was given: nothing that was left out appears.
	var raw struct{ Filter json.RawMessage }
	if err := json.Unmarshal(a.body, &raw); err != nil || string(raw.Filter) != `{"group":"g"}` {
		t.Errorf("the filter is told as %s (%v)", raw.Filter, err)
	}
}

func TestLaneReasonsAreOptional(t *testing.T) {
	f := setup(t)
	for _, verb := range []string{"pause", "resume"} {
		for body, reason := range map[string]string{"": "", "{}": "", because: "because"} {
			got := read[admin.LaneControl](f.do("dev-operator", http.MethodPost, "/lanes/BACKGROUND_LANE/"+verb, body), http.StatusOK)
			if got.Reason != reason || got.Paused != (verb == "pause") || got.By != "dev-operator" {
				t.Errorf("%s %q: got %+v", verb, body, got)
			}
		}
		f.do("dev-operator", http.MethodPost, "/lanes/BACKGROUND_LANE/"+verb, `{"why":"x"}`).refused(http.StatusUnprocessableEntity, "body.why")
	}
	bare := request(t, "dev-operator", http.MethodPost, "/lanes/BACKGROUND_LANE/pause", "")
	bare.Header.Del("Content-Type")
	read[admin.LaneControl](send(t, f.handler, bare), http.StatusOK)
}

func TestLaneThatIsSoAlready(t *testing.T) {
	q := embedded(t)
	f := setup(t, over(q, q.catalog))
	set := func(who, verb, body string) admin.LaneControl {
		return read[admin.LaneControl](f.do(who, http.MethodPost, "/lanes/STANDARD_LANE/"+verb, body), http.StatusOK)
	}
	if got := set("dev-operator", "resume", ""); got != (admin.LaneControl{Lane: "STANDARD_LANE"}) {
		t.Errorf("resumed though never paused: %+v", got)
	}
	first := set("dev-operator", "pause", "")
	if !first.Paused || first.By != "dev-operator" || first.Reason != "none given" {
		t.Errorf("paused: %+v", first)
	}
	if again := set("dev-security", "pause", because); again.By != first.By || again.Reason != first.Reason || !again.At.Equal(first.At) {
		t.Errorf("paused again: %+v, want %+v", again, first)
	}
	audit, err := q.Audit(t.Context(), dlq.AuditFilter{On: "STANDARD_LANE"}, dlq.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(audit.Items) != 1 || audit.Items[0].Reason != "none given" {
		t.Errorf("%d entries, want one: %+v", len(audit.Items), audit.Items)
	}
}

// What Firestore does not answer for is told by outbox, and left out of a lane that has none.
func TestLanesTellWhatIsUnsettled(t *testing.T) {
	f := setup(t)
	got := read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK).Items
	want := []admin.Unsettled{{Outbox: "wsOutbox", Records: 12, Since: died}}
	if got[0].Unsettled != nil || !cmp.Equal(got[1].Unsettled, want) {
		t.Errorf("got %+v and %+v, want none and %+v", got[0].Unsettled, got[1].Unsettled, want)
	}
	if body := f.do("dev-viewer", http.MethodGet, "/lanes", "").body; strings.Count(string(body), `"unsettled"`) != 1 {
		t.Errorf("a lane without any tells of them: %s", body)
	}
}

func TestLanesWithoutFirestore(t *testing.T) {
	f := setup(t)
	f.queue.err = storeError("Unavailable")
	got := read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK)
	if got.Warning != "Firestore cannot be reached: who paused what is not known" || len(got.Items) != 2 || !got.Items[1].Paused || got.Items[1].PausedBy != "" || got.Items[0].P99Millis != 40 {
		t.Errorf("got %+v", got)
	}
	f.queue.err = storeError("PermissionDenied")
	f.pass(5 * time.Second)
	got = read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK)
	if want := "Firestore answers PermissionDenied: who paused what is not known"; got.Warning != want {
		t.Errorf("it warns %q, want %q", got.Warning, want)
	}
	f.queue.err = nil
	f.pass(5 * time.Second)
	got = read[admin.LaneList](f.do("dev-viewer", http.MethodGet, "/lanes", ""), http.StatusOK)
	if got.Warning != "" || got.Items[0].Paused || !got.Items[1].Paused || got.Items[1].PausedBy != "alice@example.com" {
		t.Errorf("got %+v", got)
	}
}
