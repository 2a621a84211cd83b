package claims_test

import (
	"testing"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// TestLeftBetweenTheClaimsAndTheSignal: a handler that is gone set the claims, and
// nobody was told. The relay brings the record again; the handler that runs here
// tells of it, once, and leaves the claims as they are.
func TestLeftBetweenTheClaimsAndTheSignal(t *testing.T) {
	for name, undo := range map[string]func(f *fixture){
		"nothing announced": func(f *fixture) {
			_, err := f.db.Collection(contracts.CollectionRefreshSignals).Doc("acc-1").Delete(f.Context())
			f.must(err)
		},
		"the signal of the version before": func(f *fixture) {
			_, err := f.db.Collection(contracts.CollectionRefreshSignals).Doc("acc-1").Set(f.Context(), map[string]any{"accountId": "acc-1", "claimsVersion": 1})
			f.must(err)
		},
		"the document, and no message": func(*fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.createUser("acc-1", map[string]any{"tenant": "t-1"})
			rec, envelope := f.record("acc-1", 2, map[string]any{"role": "admin"})
			f.must(f.handler.Handle(t.Context(), rec, envelope))
			f.signals(1)
			_, err := f.db.Collection(contracts.CollectionClaimsSnapshots).Doc("acc-1").Update(t.Context(), []firestore.Update{{Path: "announced", Value: 0}})
			f.must(err)
			undo(f)
			f.must(f.handler.Handle(t.Context(), rec, envelope))
			f.must(f.handler.Handle(t.Context(), rec, envelope))
			f.handle("acc-1", 3, map[string]any{"role": "viewer"})
			if got := f.signals(2); got[0].Attributes["eventId"] != rec.EventID || got[0].Attributes["claimsVersion"] != "2" || got[1].Attributes["claimsVersion"] != "3" {
				t.Errorf("signals are %v and %v, want that of the record once, and the next", got[0].Attributes, got[1].Attributes)
			}
			if got := f.fields(contracts.CollectionRefreshSignals, "acc-1")["claimsVersion"]; got != int64(3) {
				t.Errorf("the signal is of version %v, want 3", got)
			}
			want := map[string]any{"tenant": "t-1", "roles": []any{"viewer"}, "claimsVersion": 3.0}
			if diff := cmp.Diff(want, f.user("acc-1").CustomClaims); diff != "" {
				t.Error(diff)
			}
		})
	}
}
