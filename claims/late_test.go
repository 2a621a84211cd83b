package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLateClaimsBehindAProposal: the owner before sets the claims of an older record late, when a newer one has
// been carried out and a third has proposed what it could not carry out. The older claims do not stand.
func TestLateClaimsBehindAProposal(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{}
	admin, viewer := modelRecord{version: 1, parts: parts{"roles": []string{"admin"}}}, modelRecord{version: 2, parts: parts{"roles": []string{"viewer"}}}
	late := newSlot(w, catalog(false))
	late.start(t, &admin)
	late.until(t, "set")
	if err := w.handle(t, false, viewer); err != nil {
		t.Fatal(err)
	}
	w.givesUp(t, 3, `{"roles":["viewer","auditor"]}`)
	late.until(t, "")
	holds := func(when string) {
		t.Helper()
		if diff := cmp.Diff([]any{"viewer"}, w.users["acc-1"]["roles"]); diff != "" {
			t.Errorf("roles %s (-want +got):\n%s", when, diff)
		}
	}
	holds("once the owner before is through")
	for _, again := range []modelRecord{admin, viewer} {
		if err := w.handle(t, false, again); err != nil {
			t.Fatal(err)
		}
	}
	holds("after repeats")
}

// TestLateClaimsRevoke: what took the first roles away is set late, behind a proposal that left it out. Nobody but
// the user's claims told of these roles; tokens are revoked all the same.
func TestLateClaimsRevoke(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{"roles": []any{"admin"}} // from before the first event
	late, other := newSlot(w, catalog(true)), newSlot(w, catalog(true))
	late.start(t, &modelRecord{version: 1, parts: parts{"roles": []string{"viewer"}}})
	late.until(t, "set")
	other.start(t, &modelRecord{version: 2, parts: parts{"policies": []string{"p"}}})
	other.until(t, "set")
	late.until(t, "")
	other.until(t, "")
	if diff := cmp.Diff([]any{"viewer"}, w.users["acc-1"]["roles"]); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if w.revoked == 0 {
		t.Error("no tokens were revoked")
	}
}

// TestLateClaimsOfAnothersName: a further claim that is set late does not stand, when another system has one of
// that name with another value.
func TestLateClaimsOfAnothersName(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{"plan": "gold"} // another system's
	late := newSlot(w, catalog(true))
	late.start(t, &modelRecord{version: 1, parts: parts{"claims": parts{"plan": "team"}}})
	late.until(t, "set")
	w.givesUp(t, 2, `{"claims":{"seat":"4"}}`)
	if err := w.handle(t, true, modelRecord{version: 3, parts: parts{"claims": parts{"seat": 7}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parts{"plan": "gold", "seat": 7.0, "claimsVersion": 3.0}, w.users["acc-1"]); diff != "" {
		t.Errorf("claims before (-want +got):\n%s", diff)
	}
	late.until(t, "")
	if diff := cmp.Diff(parts{"seat": 7.0, "claimsVersion": 3.0}, w.users["acc-1"]); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}
