package claims_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/claims"
	"outboxrelay/contracts"
)

// both are the tests that run on the embedded cloud and on Google's emulators.
var both = []struct {
	name string
	run  func(*fixture)
}{
	{"from a record to the signal", testRecord},
	{"older records and repeats", testOlder},
	{"a right is taken away", testRevoke},
	{"a thin event", testThin},
	{"a user is deleted and created anew", testCreatedAnew},
	{"accounts with odd names", testNames},
	{"two handlers over many records", testMany},
}

func TestCloud(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(setup(t, newCloud(t))) })
	}
}

func TestGoogleCloud(t *testing.T) {
	for _, tc := range both {
		t.Run(tc.name, func(t *testing.T) { tc.run(setup(t, onGoogle(t))) })
	}
}

func testRecord(f *fixture) {
	f.createUser("acc-1", map[string]any{"tenant": "t-1"})
	rec := f.handle("acc-1", 4, map[string]any{
		"accountId": "acc-1", "roles": []any{"admin"}, "policies": []any{"p", map[string]any{"id": int64(7)}}, "claims": map[string]any{"plan": "team"},
	})
	want := map[string]any{
		"tenant": "t-1", "roles": []any{"admin"}, "policies": []any{"p", map[string]any{"id": 7.0}}, "plan": "team", "claimsVersion": 4.0,
	}
	if diff := cmp.Diff(want, f.user("acc-1").CustomClaims); diff != "" {
		f.Error(diff)
	}
	signal := f.fields("token-refresh-signals", "acc-1")
	at, _ := signal["issuedAt"].(time.Time)
	wantSignal := map[string]any{
		"accountId": "acc-1", "triggeredBy": "RoleChanged", "eventId": rec.EventID, "traceId": rec.TraceID, "claimsVersion": int64(4), "issuedAt": at,
	}
	if diff := cmp.Diff(wantSignal, signal); diff != "" || at.IsZero() {
		f.Error(diff)
	}
	wantSnapshot := map[string]any{
		"accountId": "acc-1", "claimsVersion": int64(4), "eventId": rec.EventID, "eventType": "RoleChanged", "traceId": rec.TraceID, "idempotencyKey": rec.IdempotencyKey,
		"roles":         map[string]any{"value": []any{"admin"}, "version": int64(4)},
		"policies":      map[string]any{"value": []any{"p", map[string]any{"id": int64(7)}}, "version": int64(4)},
		"claims":        map[string]any{"value": map[string]any{"plan": "team"}, "version": int64(4)},
		"userCreatedAt": time.UnixMilli(f.user("acc-1").UserMetadata.CreationTimestamp).UTC(),
		"ownedClaims":   []any{"plan"}, "revokeFor": int64(0), "revoked": int64(0), "announced": int64(4),
	}
	if diff := cmp.Diff(wantSnapshot, f.fields("claims-snapshots", "acc-1")); diff != "" {
		f.Error(diff)
	}
	m := f.signals(1)[0]
	wantAttributes := map[string]string{
		"accountId": "acc-1", "triggeredBy": "RoleChanged", "eventId": rec.EventID, "traceId": rec.TraceID, "claimsVersion": "4", "idempotencyKey": rec.IdempotencyKey,
	}
	if diff := cmp.Diff(wantAttributes, m.Attributes); diff != "" || m.OrderingKey != "acc-1" {
		f.Errorf("ordering key %q: %s", m.OrderingKey, diff)
	}
	var body map[string]any
	f.must(json.Unmarshal(m.Data, &body))
	wantSignal["claimsVersion"], wantSignal["issuedAt"] = 4.0, at.Format(time.RFC3339Nano)
	if diff := cmp.Diff(wantSignal, body); diff != "" {
		f.Error(diff)
	}
}

func testOlder(f *fixture) {
	f.createUser("acc-1", nil)
	rec, envelope := f.record("acc-1", 5, map[string]any{"roles": []any{"viewer"}})
	f.must(f.handler.Handle(f.Context(), rec, envelope))
	snapshot, signal := f.fields("claims-snapshots", "acc-1"), f.fields("token-refresh-signals", "acc-1")
	f.handle("acc-1", 4, map[string]any{"roles": []any{"admin"}})
	f.must(f.handler.Handle(f.Context(), rec, envelope))
	if diff := cmp.Diff([]any{snapshot, signal}, []any{f.fields("claims-snapshots", "acc-1"), f.fields("token-refresh-signals", "acc-1")}); diff != "" {
		f.Error(diff)
	}
	f.handle("acc-1", 6, map[string]any{"roles": []any{}}) // whose signal is the second
	if diff := cmp.Diff(map[string]any{"roles": []any{}, "claimsVersion": 6.0}, f.user("acc-1").CustomClaims); diff != "" {
		f.Error(diff)
	}
	if got := f.signals(2); got[1].Attributes["claimsVersion"] != "6" {
		f.Errorf("the second signal is of version %s, want 6", got[1].Attributes["claimsVersion"])
	}
}

func testRevoke(f *fixture) {
	f.createUser("acc-1", nil)
	before := f.user("acc-1").TokensValidAfterMillis
	f.handle("acc-1", 1, map[string]any{"roles": []any{"admin", "viewer"}})
	if got := f.user("acc-1").TokensValidAfterMillis; got != before {
		f.Errorf("tokens are void before %d, though a right was given: it was %d", got, before)
	}
	f.handle("acc-1", 2, map[string]any{"roles": []any{"viewer"}})
	if s := f.fields("claims-snapshots", "acc-1"); s["revoked"] != int64(2) {
		f.Errorf("snapshot is %v, want it to have revoked", s)
	}
	if got := f.user("acc-1").TokensValidAfterMillis; got == 0 {
		f.Error("no token is void, though a right was taken away")
	}
	if f.cloud.accounts == nil {
		return
	}
	if n := f.cloud.accounts.Counts().Updates["validSince"]; n != 1 {
		f.Errorf("tokens were revoked %d times, want once", n)
	}
}

func testThin(f *fixture) {
	f.createUser("acc-1", nil)
	_, err := f.db.Collection("accounts").Doc("acc-1").Set(f.Context(), map[string]any{"role": "owner", "policies": []any{"p"}, "at": time.Now()})
	f.must(err)
	f.handle("acc-1", 3, map[string]any{"accountId": "acc-1"})
	want := map[string]any{"roles": []any{"owner"}, "policies": []any{"p"}, "claimsVersion": 3.0}
	if diff := cmp.Diff(want, f.user("acc-1").CustomClaims); diff != "" {
		f.Error(diff)
	}
}

func testCreatedAnew(f *fixture) {
	f.createUser("acc-1", nil)
	f.handle("acc-1", 7, map[string]any{"roles": []any{"admin"}, "policies": []any{"p"}, "claims": map[string]any{"plan": "team"}})
	f.must(f.users.DeleteUser(f.Context(), "acc-1"))
	f.createUser("acc-1", map[string]any{"tenant": "t-1"})
	f.handle("acc-1", 1, map[string]any{"roles": []any{"viewer"}})
	want := map[string]any{"tenant": "t-1", "roles": []any{"viewer"}, "claimsVersion": 8.0} // above what a client may have heard of
	if diff := cmp.Diff(want, f.user("acc-1").CustomClaims); diff != "" {
		f.Error(diff)
	}
	if got := f.signals(2); got[1].Attributes["claimsVersion"] != "8" {
		f.Errorf("the second signal is of version %s, want 8", got[1].Attributes["claimsVersion"])
	}
}

func testNames(f *fixture) {
	for uid, id := range map[string]string{"a/b": "a%2Fb", "__a__": "%5F_a__", "a%2Fb": "a%252Fb", "ö x": "ö x"} {
		f.createUser(uid, nil)
		f.handle(uid, 1, map[string]any{"role": uid})
		if diff := cmp.Diff(map[string]any{"roles": []any{uid}, "claimsVersion": 1.0}, f.user(uid).CustomClaims); diff != "" {
			f.Errorf("%s: %s", uid, diff)
		}
		if got := f.fields("token-refresh-signals", id)["accountId"]; got != uid {
			f.Errorf("document %s is of account %v, want %s", id, got, uid)
		}
	}
}

func testMany(f *fixture) {
	const accounts, versions = 4, 10
	other := f.newHandler()
	var wg sync.WaitGroup
	for a := range accounts {
		uid := fmt.Sprint("acc-", a)
		f.createUser(uid, map[string]any{"tenant": uid})
		var records []*contracts.Record
		for v := range versions {
			rec, _ := f.record(uid, int64(v+1), map[string]any{"roles": []any{fmt.Sprint("role-", v+1)}, "claims": map[string]any{fmt.Sprint("c", v%3): int64(v + 1)}})
			records = append(records, rec)
		}
		for i, h := range []*claims.Handler{f.handler, other} {
			order := rand.New(rand.NewPCG(uint64(a), uint64(i))).Perm(versions)
			wg.Go(func() {
				for _, n := range order {
					envelope, err := contracts.MarshalEnvelope(records[n])
					if err == nil {
						err = h.Handle(f.Context(), records[n], envelope)
					}
					for contracts.CodeOf(err) == claims.CodeContended {
						err = h.Handle(f.Context(), records[n], envelope)
					}
					if err != nil {
						f.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for a := range accounts {
		uid := fmt.Sprint("acc-", a)
		snapshot := f.fields("claims-snapshots", uid)
		version, _ := snapshot["claimsVersion"].(int64)
		want := map[string]any{"tenant": uid, "roles": []any{fmt.Sprint("role-", versions)}, fmt.Sprint("c", (versions-1)%3): float64(versions), "claimsVersion": float64(version)}
		if diff := cmp.Diff(want, f.user(uid).CustomClaims); diff != "" {
			f.Errorf("%s: %s", uid, diff)
		}
		if signal := f.fields("token-refresh-signals", uid); signal["claimsVersion"] != version || snapshot["announced"] != version || version < versions {
			f.Errorf("%s: snapshot %v, signal %v", uid, snapshot, signal)
		}
	}
}
