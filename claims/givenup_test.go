package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// TestWhatIsGivenUp: a grant that fails until it is a dead letter, which is then discarded, or waits for its
// authorization, must not take effect with the account's next event. One that the user's claims hold stays.
func TestWhatIsGivenUp(t *testing.T) {
	type parts = map[string]any
	for name, tc := range map[string]struct {
		failsAt string
		next    modelRecord
		want    map[string]any
	}{
		"before its claims were set": {"set", modelRecord{version: 3, parts: parts{"policies": []string{"p"}}}, parts{
			"roles": []any{"viewer"}, "policies": []any{"p"}, "claimsVersion": 3.0,
		}},
		"before its claims were set, and a repeat comes": {"set", modelRecord{version: 1, parts: parts{"roles": []string{"viewer"}}}, parts{
			"roles": []any{"viewer"}, "claimsVersion": 1.0, // as they are
		}},
		"behind them": {"publish", modelRecord{version: 3, parts: parts{"policies": []string{"p"}}}, parts{
			"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 3.0,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = map[string]any{}
			if err := w.handle(t, true, modelRecord{version: 1, parts: parts{"roles": []string{"viewer"}}}); err != nil {
				t.Fatal(err)
			}
			rec, envelope := w.givesUpAt(t, tc.failsAt, 2, `{"roles":["admin"]}`)
			if err := w.handle(t, true, tc.next); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, w.users["acc-1"]); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			// A person has it replayed after all.
			if err := w.newHandler(catalog(true), nil).Handle(t.Context(), rec, envelope); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{"admin"}, w.users["acc-1"]["roles"]); diff != "" {
				t.Errorf("roles after its replay (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsGivenUpOwnsNothing: the names of further claims that a record proposed and never set are still those of
// others, and no tokens are revoked for what it would have taken away.
func TestWhatIsGivenUpOwnsNothing(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{"plan": "gold"} // another system's
	if err := w.handle(t, true, modelRecord{version: 1, parts: parts{"roles": []string{"viewer", "admin"}}}); err != nil {
		t.Fatal(err)
	}
	revoked := w.revoked
	w.givesUp(t, 2, `{"roles":["viewer"],"claims":{"plan":"team"}}`)
	w.givesUp(t, 3, `{"claims":{"plan":"free","seat":"4"}}`)
	if err := w.handle(t, true, modelRecord{version: 4, parts: parts{"policies": []string{"p"}}}); err != nil {
		t.Fatal(err)
	}
	want := parts{"plan": "gold", "roles": []any{"viewer", "admin"}, "policies": []any{"p"}, "claimsVersion": 4.0}
	if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if w.revoked != revoked {
		t.Errorf("tokens were revoked %d times, though nothing was taken away", w.revoked-revoked)
	}
}

// TestNamesOfWhatIsGivenUp: another system may set a claim that a record proposed, and never set, once that record
// is given up: also behind further records.
func TestNamesOfWhatIsGivenUp(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{}
	w.givesUp(t, 1, `{"claims":{"plan":"team"}}`)
	if err := w.handle(t, true, modelRecord{version: 2, parts: parts{"roles": []string{"viewer"}}}); err != nil {
		t.Fatal(err)
	}
	w.users["acc-1"]["plan"] = "gold"
	w.givesUp(t, 3, `{"claims":{"seat":"4"}}`)
	if err := w.handle(t, true, modelRecord{version: 4, parts: parts{"policies": []string{"p"}}}); err != nil {
		t.Fatal(err)
	}
	want := parts{"plan": "gold", "roles": []any{"viewer"}, "policies": []any{"p"}, "claimsVersion": 4.0}
	if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// TestGivenUpInTheReleaseBefore: its document does not tell what the proposal added to the names and the
// revocations. Then all of them stand: too much is taken away rather than too little.
func TestGivenUpInTheReleaseBefore(t *testing.T) {
	type parts = map[string]any
	w := newWorld()
	w.users["acc-1"] = parts{"plan": "team"}
	if err := w.handle(t, true, modelRecord{version: 1, parts: parts{"roles": []string{"viewer", "admin"}}}); err != nil {
		t.Fatal(err)
	}
	w.givesUp(t, 2, `{"roles":["viewer"],"claims":{"plan":"free"}}`)
	before, _ := w.docs[snapshotRef("acc-1")].Fields[fieldBefore].(parts)
	delete(before, fieldOwned)
	delete(before, fieldRevokeFor)
	if err := w.handle(t, true, modelRecord{version: 3, parts: parts{"policies": []string{"p"}}}); err != nil {
		t.Fatal(err)
	}
	want := parts{"roles": []any{"viewer", "admin"}, "policies": []any{"p"}, "claimsVersion": 3.0}
	if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if w.revoked != 1 {
		t.Errorf("tokens were revoked %d times, want once", w.revoked)
	}
}

// TestWhatIsGivenUpHasNoVersion: another event of the very version, as one in two versions of its payload has, does not
// carry out what was given up. It is carried out itself.
func TestWhatIsGivenUpHasNoVersion(t *testing.T) {
	type parts = map[string]any
	for name, tc := range map[string]struct {
		payload string
		want    parts
	}{
		"of the same part":               {`{"roles":["viewer","auditor"]}`, parts{"roles": []any{"viewer", "auditor"}, "claimsVersion": 3.0}},
		"of the same part, and the same": {`{"roles":["admin"]}`, parts{"roles": []any{"admin"}, "claimsVersion": 2.0}},
		"of another part":                {`{"policies":["p"]}`, parts{"roles": []any{"viewer"}, "policies": []any{"p"}, "claimsVersion": 3.0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = parts{}
			if err := w.handle(t, true, modelRecord{version: 1, parts: parts{"roles": []string{"viewer"}}}); err != nil {
				t.Fatal(err)
			}
			w.givesUp(t, 2, `{"roles":["admin"]}`)
			rec, envelope := record(2, tc.payload)
			rec.EventID, rec.IdempotencyKey = "event-other", contracts.IdempotencyKey("event-other", rec.AggregateID, 2)
			for range 2 {
				if err := w.newHandler(catalog(true), nil).Handle(t.Context(), rec, envelope); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, w.users["acc-1"]); diff != "" {
					t.Errorf("claims (-want +got):\n%s", diff)
				}
			}
		})
	}
}
