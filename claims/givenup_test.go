package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
			failing := w.newHandler(catalog(true), func(call string) verdict {
				if call == tc.failsAt {
					return crashBefore
				}
				return pass
			})
			rec, envelope := record(2, `{"roles":["admin"]}`)
			for range 3 {
				if err := failing.Handle(t.Context(), rec, envelope); err == nil {
					t.Fatal("it is carried out")
				}
			}
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
