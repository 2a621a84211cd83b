package claims

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUserCreatedAnew: who gets the uid of a user who was deleted gets none of that user's rights, whichever
// event is the first. What the new user has already stays.
func TestUserCreatedAnew(t *testing.T) {
	type parts = map[string]any
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)
	for name, tc := range map[string]struct {
		anew    time.Time
		account parts
		first   modelRecord
		want    parts
	}{
		"a role change": {at.Add(time.Hour), nil, modelRecord{version: 1, parts: parts{"roles": []string{"viewer"}}}, parts{
			"tenant": "t-1", "roles": []any{"viewer"}, "claimsVersion": 8.0,
		}},
		"a policy change": {at.Add(time.Hour), nil, modelRecord{version: 9, parts: parts{"policies": []string{"q"}}}, parts{
			"tenant": "t-1", "policies": []any{"q"}, "claimsVersion": 9.0,
		}},
		"a thin event": {at.Add(time.Hour), parts{"role": "viewer"}, modelRecord{version: 1, parts: parts{}}, parts{
			"tenant": "t-1", "roles": []any{"viewer"}, "claimsVersion": 8.0,
		}},
		"an Auth that does not say": {time.Time{}, nil, modelRecord{version: 8, parts: parts{"policies": []string{"q"}}}, parts{
			"tenant": "t-1", "roles": []any{"admin"}, "policies": []any{"q"}, "plan": "team", "claimsVersion": 8.0,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"], w.created["acc-1"] = parts{}, at
			if err := w.handle(t, true, modelRecord{version: 7, parts: parts{"roles": []string{"admin"}, "policies": []string{"p"}, "claims": parts{"plan": "team"}}}); err != nil {
				t.Fatal(err)
			}
			w.users["acc-1"], w.created["acc-1"] = parts{"tenant": "t-1"}, tc.anew
			if tc.account != nil {
				w.docs[accountRef("acc-1")] = Doc{Fields: tc.account, UpdateTime: w.tick()}
			}
			if err := w.handle(t, true, tc.first); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, w.users["acc-1"]); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			published := len(w.published)
			if err := w.handle(t, true, tc.first); err != nil || len(w.published) != published {
				t.Errorf("a repeat publishes %d signals: %v", len(w.published)-published, err)
			}
		})
	}
}
