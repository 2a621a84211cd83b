package claims_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/claims"
	"outboxrelay/contracts"
	localauth "outboxrelay/deploy/local/auth"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// TestFaults: what fails on the way is an outage or an attempt, and the next
// attempt completes the record.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		hurt func(*cloud)
		kind contracts.Kind
		code string
	}{
		{"Firestore fails to read", func(c *cloud) {
			c.store.Faults().Add(localfirestore.Fault{Method: "BatchGetDocuments", Times: 1, Code: codes.PermissionDenied})
		}, contracts.Outage, "PermissionDenied"},
		{"Firestore loses the snapshot's answer", func(c *cloud) {
			c.store.Faults().Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true, Code: codes.Internal})
		}, contracts.Attributable, "Internal"},
		{"Firestore refuses the signal", func(c *cloud) {
			c.store.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: contracts.CollectionRefreshSignals, Times: 1, Code: codes.PermissionDenied})
		}, contracts.Outage, "PermissionDenied"},
		{"Auth fails to set", func(c *cloud) {
			c.accounts.Faults().Add(localauth.Fault{Method: localauth.MethodUpdate, Times: 1, Status: 500})
		}, contracts.Attributable, "Internal"},
		{"Auth loses the answer", func(c *cloud) {
			c.accounts.Faults().Add(localauth.Fault{Method: localauth.MethodUpdate, Times: 1, Drop: true, LoseResponse: true})
		}, contracts.Outage, "Unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.createUser("acc-1", map[string]any{"tenant": "t-1"})
			c.hurt(f.cloud)
			rec, envelope := f.record("acc-1", 2, map[string]any{"role": "admin"})
			err := f.handler.Handle(t.Context(), rec, envelope)
			if diff := cmp.Diff([]any{c.kind, c.code, contracts.ClaimsRefreshFailed}, []any{contracts.KindOf(err), contracts.CodeOf(err), contracts.ReasonOf(err)}); diff != "" {
				t.Fatalf("%v: %s", err, diff)
			}
			f.must(f.handler.Handle(t.Context(), rec, envelope))
			f.must(f.handler.Handle(t.Context(), rec, envelope))
			if diff := cmp.Diff(map[string]any{"tenant": "t-1", "roles": []any{"admin"}, "claimsVersion": 2.0}, f.user("acc-1").CustomClaims); diff != "" {
				t.Error(diff)
			}
			f.handle("acc-1", 3, map[string]any{"role": "viewer"})
			if got := f.signals(2); got[0].Attributes["eventId"] != rec.EventID || got[1].Attributes["claimsVersion"] != "3" {
				t.Errorf("signals are %v and %v", got[0].Attributes, got[1].Attributes)
			}
		})
	}
	t.Run("the client repeats a commit whose answer was lost", func(t *testing.T) {
		f := setup(t, newCloud(t))
		f.createUser("acc-1", nil)
		f.cloud.store.Faults().Add(localfirestore.Fault{Method: "Commit", LoseResponse: true, Share: 0.5, Code: codes.Unavailable})
		f.handle("acc-1", 2, map[string]any{"role": "admin"})
		f.cloud.store.Faults().Clear()
		if got := f.fields("claims-snapshots", "acc-1"); got["announced"] != int64(2) || got["claimsVersion"] != int64(2) {
			t.Errorf("snapshot is %v", got)
		}
	})
	t.Run("Auth asks to be left alone", func(t *testing.T) {
		f := setup(t, newCloud(t))
		f.createUser("acc-1", nil)
		f.cloud.accounts.Faults().Add(localauth.Fault{Status: 503, RetryAfter: time.Minute})
		rec, envelope := f.record("acc-1", 2, map[string]any{"role": "admin"})
		for _, want := range []string{"Unavailable", claims.CodeRetryAfter, claims.CodeRetryAfter} {
			before := f.cloud.accounts.Counts().Calls[localauth.MethodLookup]
			err := f.handler.Handle(t.Context(), rec, envelope)
			made := f.cloud.accounts.Counts().Calls[localauth.MethodLookup] - before
			if contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != want || made != map[bool]int64{true: 1}[want == "Unavailable"] {
				t.Errorf("got %v after %d calls, want %s", err, made, want)
			}
		}
	})
}
