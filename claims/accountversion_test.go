package claims

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccountVersionOfNoRecord: a version of the account's document that no record can have, as one in nanoseconds,
// says nothing. It would stand before every event for ever, and be beyond what a token carries exactly.
func TestAccountVersionOfNoRecord(t *testing.T) {
	type parts = map[string]any
	for name, tc := range map[string]struct {
		fields  parts // of the document, beside its roles and policies
		payload parts
		want    parts
	}{
		"nanoseconds":            {parts{"version": int64(1_700_000_000_000_000_000)}, parts{"policies": []string{"q"}}, parts{"roles": []any{"admin"}, "policies": []any{"q"}, "claimsVersion": 4.0}},
		"the last integer":       {parts{"version": int64(math.MaxInt64)}, parts{"policies": []string{"q"}}, parts{"roles": []any{"admin"}, "policies": []any{"q"}, "claimsVersion": 4.0}},
		"behind a thin event":    {parts{"version": int64(math.MaxInt64)}, parts{}, parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 4.0}},
		"the other field has it": {parts{"aggregateVersion": int64(math.MaxInt64), "version": int64(9)}, parts{"policies": []string{"q"}}, parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 9.0}},
		"the last that may be":   {parts{"version": int64(maxClaimsVersion)}, parts{"policies": []string{"q"}}, parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": float64(maxClaimsVersion)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = parts{}
			tc.fields["roles"], tc.fields["policies"] = []any{"admin"}, []any{"p"}
			w.docs[accountRef("acc-1")] = Doc{Fields: tc.fields, UpdateTime: w.tick()}
			if err := w.handle(t, true, modelRecord{version: 4, parts: tc.payload}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, w.users["acc-1"]); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}
