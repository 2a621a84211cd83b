package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// until advances s until it waits to make the call, or ends.
func (s *slot) until(t *testing.T, call string) {
	t.Helper()
	for s.running != nil && s.at != call {
		s.advance(t, pass)
	}
	if s.at != call {
		t.Fatalf("it ended without the call %q", call)
	}
}

// TestTwoHandlersTakeTurns lets a handler with an older record stand before one
// of its calls while another handler carries a newer record out.
func TestTwoHandlersTakeTurns(t *testing.T) {
	for _, c := range []struct{ name, before string }{
		{"before it looks the user up", "look up"},
		{"before it reads", "get"},
		{"before it commits the snapshot", "put " + contracts.CollectionClaimsSnapshots},
		{"before it sets the claims", "set"},
		{"before it writes the signal", "put " + contracts.CollectionRefreshSignals},
		{"before it publishes", "publish"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = map[string]any{"tenant": "t-1"}
			slow, fast := newSlot(w, catalog(false)), newSlot(w, catalog(false))
			slow.start(t, &modelRecord{version: 1, parts: map[string]any{"roles": []string{"admin"}, "claims": map[string]any{"plan": "team"}}})
			slow.until(t, c.before)
			fast.start(t, &modelRecord{version: 2, parts: map[string]any{"roles": []string{"viewer"}, "claims": map[string]any{"seat": 7}}})
			fast.until(t, "")
			slow.until(t, "")
			want := map[string]any{"tenant": "t-1", "roles": []any{"viewer"}, "seat": 7.0, "claimsVersion": 2.0}
			if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
				t.Error(diff)
			}
			if got := readSignal(w.docs[signalRef("acc-1")]).ClaimsVersion; got != 2 {
				t.Errorf("the signal is of version %d, want 2", got)
			}
		})
	}
}

// TestDeathBetweenSteps kills a handler before and behind each call, and lets
// the next attempt complete the record.
func TestDeathBetweenSteps(t *testing.T) {
	calls := []string{
		"look up", "get", "put claims-snapshots", "set", "get", "revoke", "put claims-snapshots", "put token-refresh-signals", "publish", "put claims-snapshots",
	}
	setup := func(t *testing.T) (*world, *slot) {
		w := newWorld()
		w.users["acc-1"] = map[string]any{"roles": []any{"admin"}, "tenant": "t-1"}
		return w, newSlot(w, catalog(true))
	}
	for i, call := range append(calls, "") {
		for _, v := range []verdict{crashBefore, crashAfter} {
			name := map[verdict]string{crashBefore: "before ", crashAfter: "behind "}[v] + call
			t.Run(name, func(t *testing.T) {
				w, s := setup(t)
				r := &modelRecord{version: 3, parts: map[string]any{"roles": []string{"viewer"}}}
				s.start(t, r)
				for _, before := range calls[:i] {
					if s.at != before {
						t.Fatalf("the next call is %q, want %q", s.at, before)
					}
					s.advance(t, pass)
				}
				if call != "" {
					s.advance(t, v)
				}
				if s.running != nil || r.acked != (call == "") {
					t.Fatalf("it stands before %q, acknowledged: %v", s.at, r.acked)
				}
				s.start(t, r)
				s.until(t, "")
				want := map[string]any{"tenant": "t-1", "roles": []any{"viewer"}, "claimsVersion": 3.0}
				if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
					t.Error(diff)
				}
				twice := i == 8 && v == crashAfter || i == 9 && v == crashBefore // between publishing and the note
				if got := len(w.published); !twice && got != 1 || twice && got != 2 {
					t.Errorf("%d messages were published", got)
				}
				again := i == 5 && v == crashAfter || i == 6 && v == crashBefore // between revoking and the note
				if !again && w.revoked != 1 || again && w.revoked != 2 {
					t.Errorf("tokens were revoked %d times", w.revoked)
				}
				if got := readSnapshot(w.docs[snapshotRef("acc-1")]); got.Announced != 3 || got.Revoked != 3 || got.ClaimsVersion != 3 {
					t.Errorf("snapshot is %+v", got)
				}
			})
		}
	}
}
