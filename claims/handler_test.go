package claims

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

// handle carries records out, one after the other, and returns the last error.
func (w *world) handle(t *testing.T, revoke bool, records ...modelRecord) (err error) {
	t.Helper()
	h := w.newHandler(catalog(revoke), nil)
	for _, r := range records {
		payload, e := json.Marshal(r.parts)
		if e != nil {
			t.Fatal(e)
		}
		rec, envelope := record(r.version, string(payload))
		err = h.Handle(t.Context(), rec, envelope)
	}
	return err
}

func TestHandle(t *testing.T) {
	type parts = map[string]any
	for _, c := range []struct {
		name    string
		held    map[string]any // the user's claims before
		account map[string]any // fields of the account's document
		records []modelRecord
		want    map[string]any // the user's claims after
		signals int
	}{
		{
			"the first record", nil, nil,
			[]modelRecord{{version: 4, parts: parts{"roles": []string{"admin"}, "policies": []any{"p", parts{"id": "q"}}}}},
			parts{"roles": []any{"admin"}, "policies": []any{"p", parts{"id": "q"}}, "claimsVersion": 4.0},
			1,
		},
		{
			"claims of others survive, ours do not",
			parts{"tenant": parts{"id": 7.0}, "roles": []any{"owner"}, "policies": []any{"old"}},
			nil,
			[]modelRecord{{version: 4, parts: parts{"roles": []string{}}}},
			parts{"tenant": parts{"id": 7.0}, "roles": []any{}, "policies": []any{"old"}, "claimsVersion": 4.0},
			1,
		},
		{
			"claims ahead of a snapshot that came back with an export",
			parts{"roles": []any{"owner"}, "claimsVersion": 15.0},
			nil,
			[]modelRecord{{version: 4, parts: parts{"roles": []string{"admin"}}}},
			parts{"roles": []any{"admin"}, "claimsVersion": 16.0},
			1,
		},
		{
			"a claimsVersion that no token can carry is not ours",
			parts{"claimsVersion": float64(maxClaimsVersion << 7)},
			nil,
			[]modelRecord{{version: 4, parts: parts{"roles": []string{"admin"}}}},
			parts{"roles": []any{"admin"}, "claimsVersion": 4.0},
			1,
		},
		{
			"parts from two events", nil, nil,
			[]modelRecord{{version: 1, parts: parts{"role": "admin"}}, {version: 2, parts: parts{"policies": []any{"p"}}}},
			parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 2.0},
			2,
		},
		{
			"an older record", nil, nil,
			[]modelRecord{{version: 2, parts: parts{"roles": []string{"viewer"}}}, {version: 1, parts: parts{"roles": []string{"admin"}}}},
			parts{"roles": []any{"viewer"}, "claimsVersion": 2.0},
			1,
		},
		{
			"an older record of another part", nil, nil,
			[]modelRecord{{version: 2, parts: parts{"roles": []string{"viewer"}}}, {version: 1, parts: parts{"policies": []any{"p"}}}},
			parts{"roles": []any{"viewer"}, "policies": []any{"p"}, "claimsVersion": 3.0},
			2,
		},
		{
			"a repeat", nil, nil,
			[]modelRecord{{version: 2, parts: parts{"role": "viewer"}}, {version: 2, parts: parts{"role": "viewer"}}},
			parts{"roles": []any{"viewer"}, "claimsVersion": 2.0},
			1,
		},
		{
			"another record of the same version leaves what is stored", nil, nil,
			[]modelRecord{{version: 2, parts: parts{"role": "viewer"}}, {version: 2, parts: parts{"role": "admin", "policies": []any{"p"}}}},
			parts{"roles": []any{"viewer"}, "policies": []any{"p"}, "claimsVersion": 3.0},
			2,
		},
		{
			"a newer record that says the same is announced", nil, nil,
			[]modelRecord{{version: 2, parts: parts{"role": "viewer"}}, {version: 5, parts: parts{"role": "viewer"}}},
			parts{"roles": []any{"viewer"}, "claimsVersion": 5.0},
			2,
		},
		{
			"further claims come and go",
			parts{"tenant": "t"},
			nil,
			[]modelRecord{{version: 1, parts: parts{"claims": parts{"plan": "team", "seat": 7}}}, {version: 2, parts: parts{"claims": parts{"plan": "free"}}}},
			parts{"tenant": "t", "plan": "free", "claimsVersion": 2.0},
			2,
		},
		{
			"a thin event", nil,
			parts{"roles": []any{"owner"}, "policies": []any{"p"}, "name": "Ada"},
			[]modelRecord{{version: 3, parts: parts{"accountId": "acc-1"}}},
			parts{"roles": []any{"owner"}, "policies": []any{"p"}, "claimsVersion": 3.0},
			1,
		},
		{
			"a thin event after one with a payload", nil,
			parts{"role": "owner"},
			[]modelRecord{{version: 3, parts: parts{"role": "admin"}}, {version: 4, parts: parts{}}},
			parts{"roles": []any{"owner"}, "claimsVersion": 4.0},
			2,
		},
		{
			"an account's document without a version fills gaps", nil,
			parts{"roles": []any{"owner"}, "policies": []any{"p"}},
			[]modelRecord{{version: 3, parts: parts{"roles": []string{"admin"}}}},
			parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 3.0},
			1,
		},
		{
			"an account's document of a newer version wins", nil,
			parts{"roles": []any{"owner"}, "version": int64(9)},
			[]modelRecord{{version: 3, parts: parts{"roles": []string{"admin"}}}, {version: 4, parts: parts{"roles": []string{"viewer"}}}},
			parts{"roles": []any{"owner"}, "claimsVersion": 9.0},
			1,
		},
		{
			"an account's document of the record's version leaves the payload", nil,
			parts{"roles": []any{"owner"}, "policies": []any{"p"}, "version": int64(3)},
			[]modelRecord{{version: 3, parts: parts{"roles": []string{"admin"}}}},
			parts{"roles": []any{"admin"}, "policies": []any{"p"}, "claimsVersion": 3.0},
			1,
		},
		{
			"a part of the account's document that cannot be read is passed over beside a payload", nil,
			parts{"roles": "owner", "policies": []any{"p"}},
			[]modelRecord{{version: 3, parts: parts{"claims": parts{}}}},
			parts{"policies": []any{"p"}, "claimsVersion": 3.0},
			1,
		},
		{
			"numbers that no float64 holds stay as they are, and are no endless change",
			parts{"id": json.Number("9007199254740993"), "huge": json.Number("1e400"), "deep": parts{"n": []any{json.Number("18446744073709551617"), json.Number("1.0")}}},
			nil,
			[]modelRecord{{version: 1, parts: parts{"claims": parts{"n": int64(9007199254740993)}}}, {version: 1, parts: parts{"claims": parts{"n": int64(9007199254740993)}}}},
			parts{
				"id": json.Number("9007199254740993"), "huge": json.Number("1e400"), "deep": parts{"n": []any{json.Number("18446744073709551617"), json.Number("1.0")}},
				"n": json.Number("9007199254740993"), "claimsVersion": json.Number("1"),
			},
			1,
		},
		{
			"a claim whose number somebody else rounded is set again",
			parts{"n": json.Number("9007199254740992")},
			nil,
			[]modelRecord{{version: 1, parts: parts{"claims": parts{"n": int64(9007199254740993)}}}},
			parts{"n": json.Number("9007199254740993"), "claimsVersion": json.Number("1")},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = c.held
			if c.account != nil {
				w.docs[accountRef("acc-1")] = Doc{Fields: c.account, UpdateTime: w.tick()}
			}
			if err := w.handle(t, false, c.records...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, w.users["acc-1"]); diff != "" {
				t.Error(diff)
			}
			if len(w.published) != c.signals {
				t.Errorf("%d signals were published, want %d", len(w.published), c.signals)
			}
			writes := w.writes
			if err := w.handle(t, false, c.records[len(c.records)-1]); err != nil || w.writes != writes {
				t.Errorf("a repeat wrote %d times, %v", w.writes-writes, err)
			}
		})
	}
}

func TestRevoking(t *testing.T) {
	type parts = map[string]any
	for _, c := range []struct {
		name    string
		revoke  bool
		held    map[string]any
		records []modelRecord
		want    int
	}{
		{"a role is gone", true, nil, []modelRecord{{version: 1, parts: parts{"roles": []string{"a", "b"}}}, {version: 2, parts: parts{"roles": []string{"b"}}}}, 1},
		{"the catalog does not ask for it", false, nil, []modelRecord{{version: 1, parts: parts{"roles": []string{"a", "b"}}}, {version: 2, parts: parts{"roles": []string{"b"}}}}, 0},
		{"a role comes", true, nil, []modelRecord{{version: 1, parts: parts{"roles": []string{"a"}}}, {version: 2, parts: parts{"roles": []string{"b", "a"}}}}, 0},
		{"a policy changes inside", true, nil, []modelRecord{{version: 1, parts: parts{"policies": []any{parts{"id": 1, "on": true}}}}, {version: 2, parts: parts{"policies": []any{parts{"id": 1, "on": false}}}}}, 1},
		{"a claim is gone", true, nil, []modelRecord{{version: 1, parts: parts{"claims": parts{"plan": "x"}}}, {version: 2, parts: parts{"claims": parts{}}}}, 1},
		{"a claim has another value", true, nil, []modelRecord{{version: 1, parts: parts{"claims": parts{"admin": true}}}, {version: 2, parts: parts{"claims": parts{"admin": false}}}}, 1},
		{"a role from before the first snapshot is gone", true, parts{"roles": []any{"owner"}}, []modelRecord{{version: 1, parts: parts{"roles": []string{"a"}}}}, 1},
		{"an older record", true, nil, []modelRecord{{version: 2, parts: parts{"roles": []string{"a"}}}, {version: 1, parts: parts{"roles": []string{}}}}, 0},
		{"a repeat", true, nil, []modelRecord{{version: 1, parts: parts{"roles": []string{"a"}}}, {version: 2, parts: parts{"roles": []string{}}}, {version: 2, parts: parts{"roles": []string{}}}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = c.held
			if err := w.handle(t, c.revoke, c.records...); err != nil {
				t.Fatal(err)
			}
			if w.revoked != c.want {
				t.Errorf("revoked %d times, want %d", w.revoked, c.want)
			}
		})
	}
}

// TestLostSnapshot: claimsVersion never goes back, even where the snapshot did.
func TestLostSnapshot(t *testing.T) {
	w := newWorld()
	w.users["acc-1"] = nil
	type parts = map[string]any
	if err := w.handle(t, false, modelRecord{version: 9, parts: parts{"role": "a"}}); err != nil {
		t.Fatal(err)
	}
	older := w.docs[snapshotRef("acc-1")]
	delete(w.docs, snapshotRef("acc-1"))
	if err := w.handle(t, false, modelRecord{version: 2, parts: parts{"role": "b"}}); err != nil {
		t.Fatal(err)
	}
	if got := w.users["acc-1"][claimVersion]; got != 10.0 {
		t.Errorf("claimsVersion is %v, want 10: 9 was given out", got)
	}
	older.Fields["announced"] = int64(0)
	w.docs[snapshotRef("acc-1")] = older // somebody restored it
	if err := w.handle(t, false, modelRecord{version: 9, parts: parts{"role": "a"}}); err != nil {
		t.Fatal(err)
	}
	if got := readSignal(w.docs[signalRef("acc-1")]).ClaimsVersion; got != 10 || len(w.published) != 2 {
		t.Errorf("the signal went to version %d with %d messages, want 10 and 2", got, len(w.published))
	}
}

// TestLostSnapshotAndClaims: what the signal told is not told again, even where
// somebody overwrote the user's claims too.
func TestLostSnapshotAndClaims(t *testing.T) {
	w := newWorld()
	w.users["acc-1"] = nil
	type parts = map[string]any
	if err := w.handle(t, false, modelRecord{version: 9, parts: parts{"role": "a"}}); err != nil {
		t.Fatal(err)
	}
	delete(w.docs, snapshotRef("acc-1"))
	w.users["acc-1"] = parts{"tenant": "t"}
	if err := w.handle(t, false, modelRecord{version: 2, parts: parts{"role": "b"}}); err != nil {
		t.Fatal(err)
	}
	want := parts{"tenant": "t", "roles": []any{"b"}, "claimsVersion": 10.0}
	if diff := cmp.Diff(want, w.users["acc-1"]); diff != "" {
		t.Error(diff)
	}
	if got := readSignal(w.docs[signalRef("acc-1")]).ClaimsVersion; got != 10 || len(w.published) != 2 {
		t.Errorf("the signal is at version %d after %d messages, want 10 and 2", got, len(w.published))
	}
}

func TestSignal(t *testing.T) {
	w := newWorld()
	w.users["acc-1"] = nil
	if err := w.handle(t, false, modelRecord{version: 2, parts: map[string]any{"role": "a"}}); err != nil {
		t.Fatal(err)
	}
	at := w.docs[signalRef("acc-1")].Fields["issuedAt"].(time.Time)
	want := map[string]any{
		"accountId": "acc-1", "triggeredBy": "RoleChanged", "eventId": "event-c", "traceId": "trace-c", "claimsVersion": int64(2), "issuedAt": at,
	}
	if diff := cmp.Diff(want, w.docs[signalRef("acc-1")].Fields); diff != "" {
		t.Error(diff)
	}
	message := w.published[0]
	var body map[string]any
	if err := json.Unmarshal([]byte(message.data), &body); err != nil {
		t.Fatal(err)
	}
	want["claimsVersion"], want["issuedAt"] = 2.0, at.Format(time.RFC3339Nano)
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	attributes := map[string]string{
		"eventId": "event-c", "traceId": "trace-c", "accountId": "acc-1", "claimsVersion": "2", "triggeredBy": "RoleChanged", "idempotencyKey": "event-c:acc-1:2",
	}
	if diff := cmp.Diff(attributes, message.attributes); diff != "" || message.key != "acc-1" {
		t.Errorf("ordering key %q; %s", message.key, diff)
	}
}

func TestConfig(t *testing.T) {
	m := &memory{world: newWorld()}
	sound := Config{Catalog: catalog(false), Store: m, Accounts: m, Signals: m}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"sound", func(*Config) {}, ""},
		{"no ports", func(c *Config) { c.Store, c.Accounts, c.Signals = nil, nil, nil }, "store, accounts and signals must all be given"},
		{"no catalog", func(c *Config) { c.Catalog = nil }, "the catalog is missing"},
		{"negative timeout", func(c *Config) { c.Timeout = -1 }, "timeout is -1ns, want more than 0"},
		{"undeclared target", func(c *Config) { c.Target = "NOBODY" }, "the catalog does not declare target NOBODY"},
		{"topic as target", func(c *Config) { c.Target = "FUNNEL" }, "target FUNNEL is of kind pubsub, want handler"},
		{"no rate", func(c *Config) {
			c.Catalog = catalog(false)
			c.Catalog.Targets[DefaultTarget] = contracts.TargetSpec{Kind: contracts.KindHandler}
		}, "target CLAIMS_HANDLER: ratePerSecond is 0, want more than 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := sound
			c.change(&cfg)
			_, err := New(cfg)
			if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != "create claims handler: "+c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// series gathers what is registered, by name and label values.
func series(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue()
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := newWorld()
	w.users["acc-1"] = nil
	m := &memory{world: w}
	h, err := New(Config{Catalog: catalog(false), Store: m, Accounts: m, Signals: m, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(series(t, reg)); n != 3+len(knownCodes)+6+6+1 {
		t.Errorf("%d series stand at zero", n)
	}
	rec, envelope := record(1, `{"role":"a"}`)
	for range 2 {
		if err := h.Handle(t.Context(), rec, envelope); err != nil {
			t.Fatal(err)
		}
	}
	rec.AggregateID = "acc-2"
	if err := h.Handle(t.Context(), rec, envelope); err == nil {
		t.Error("there is no such user")
	}
	h.metrics.failed("Whatever")
	got := series(t, reg)
	for name, want := range map[string]float64{
		"relay_claims_records_total changed": 1, "relay_claims_records_total unchanged": 1, "relay_claims_records_total completed": 0,
		"relay_claims_failures_total UserNotFound": 1, "relay_claims_failures_total other": 1, "relay_claims_signals_total": 1,
		"relay_claims_auth_calls_total look-up ok": 2, "relay_claims_auth_calls_total look-up failed": 1, "relay_claims_auth_calls_total set ok": 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}
