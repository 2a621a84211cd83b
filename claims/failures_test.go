package claims

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestHandleFails(t *testing.T) {
	type parts = map[string]any
	long := strings.Repeat("x", 900)
	for _, c := range []struct {
		name    string
		held    map[string]any
		account map[string]any
		record  modelRecord
		kind    contracts.Kind
		code    string
		text    string
	}{
		{"reserved names", nil, nil, modelRecord{1, parts{"claims": parts{"sub": "x", "roles": 1, "ok": 2, "aud": 3}}, false}, contracts.Permanent, CodeReserved, "aud, roles, sub"},
		{
			"too large by itself", nil, nil,
			modelRecord{1, parts{"roles": []string{"a"}, "claims": parts{"text": long + long}}, false},
			contracts.Permanent, CodeTooLarge, "1843 bytes of JSON, 843 over the limit of 1000: roles 14, claims 1810, claimsVersion 18",
		},
		{
			"too large with the claims of others",
			parts{"theirs": long},
			nil,
			modelRecord{1, parts{"claims": parts{"text": long[:100]}}, false},
			contracts.Permanent, CodeTooLarge, "claims 110, claimsVersion 18, claims of others 912",
		},
		{"of another account", nil, nil, modelRecord{1, parts{"accountId": "acc-2", "role": "admin"}, false}, contracts.Permanent, CodeMismatch, "aggregateId"},
		{"an account that is a number", nil, nil, modelRecord{1, parts{"accountId": 7, "role": "admin"}, false}, contracts.Permanent, CodeMismatch, "aggregateId"},
		{"a version beyond what JavaScript counts", nil, nil, modelRecord{1<<53 + 1, parts{"role": "admin"}, false}, contracts.Permanent, CodeMalformed, "aggregateVersion is 9007199254740993"},
		{"roles are text", nil, nil, modelRecord{1, parts{"roles": "admin"}, false}, contracts.Permanent, CodeMalformed, "payload.roles is no array"},
		{"roles are null", nil, nil, modelRecord{1, parts{"roles": nil}, false}, contracts.Permanent, CodeMalformed, "payload.roles is null, want an array"},
		{"claims are null", nil, nil, modelRecord{1, parts{"claims": nil}, false}, contracts.Permanent, CodeMalformed, "payload.claims is null, want an object"},
		{"a role is empty", nil, nil, modelRecord{1, parts{"role": ""}, false}, contracts.Permanent, CodeMalformed, "payload.role holds something else than text at 0"},
		{
			"faults in every part", nil, nil,
			modelRecord{1, parts{"roles": []any{parts{}}, "policies": []any{"p", 7}, "claims": []any{}}, false},
			contracts.Permanent, CodeMalformed,
			"payload.roles holds something else than text at 0; payload.policies holds something else than text or an object at 1; payload.claims is no object",
		},
		{"a claim without a name", nil, nil, modelRecord{1, parts{"claims": parts{"": 1}}, false}, contracts.Permanent, CodeMalformed, "without a name"},
		{"nothing to set", nil, nil, modelRecord{1, parts{}, false}, contracts.Permanent, CodeNothing, "the account's document does not exist"},
		{"nothing in the account's document", nil, parts{"name": "Ada"}, modelRecord{1, parts{}, false}, contracts.Permanent, CodeNothing, "has neither roles nor policies"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = c.held
			if c.account != nil {
				w.docs[accountRef("acc-1")] = Doc{Fields: c.account, UpdateTime: w.tick()}
			}
			err := w.handle(t, false, c.record)
			want := []any{c.kind, c.code, contracts.ClaimsRefreshFailed}
			if diff := cmp.Diff(want, []any{contracts.KindOf(err), contracts.CodeOf(err), contracts.ReasonOf(err)}); diff != "" {
				t.Fatalf("%v: %s", err, diff)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "acc-1") {
				t.Errorf("got %q, want the account and %q", err, c.text)
			}
			if strings.Contains(err.Error(), "xxx") {
				t.Errorf("%q tells a claim's value", err)
			}
			if w.writes != 0 {
				t.Errorf("wrote %d times", w.writes)
			}
		})
	}
	t.Run("no user", func(t *testing.T) {
		err := newWorld().handle(t, false, modelRecord{version: 1, parts: parts{"role": "admin"}})
		if contracts.KindOf(err) != contracts.Attributable || contracts.CodeOf(err) != CodeUserNotFound {
			t.Errorf("got %v", err)
		}
		if !contracts.OwnOf(err) {
			t.Errorf("%v is not the record's alone: three accounts without a user would have the handler out", err)
		}
	})
	t.Run("no uid", func(t *testing.T) {
		w := newWorld()
		rec, envelope := record(1, `{"role":"admin"}`)
		rec.AggregateID = strings.Repeat("x", 129)
		if err := w.newHandler(catalog(false), nil).Handle(t.Context(), rec, envelope); contracts.CodeOf(err) != CodeBadAccount || contracts.KindOf(err) != contracts.Permanent {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no envelope", func(t *testing.T) {
		rec, _ := record(1, "{}")
		for _, envelope := range []string{"", "[]", `{"payload": []}`, `{"payload": null}`, "{}"} {
			if err := newWorld().newHandler(catalog(false), nil).Handle(t.Context(), rec, []byte(envelope)); contracts.CodeOf(err) != CodeMalformed {
				t.Errorf("%q: got %v", envelope, err)
			}
		}
	})
}

// contendedStore is a Store whose documents somebody else changes all the time.
type contendedStore struct{ *memory }

func (contendedStore) Put(context.Context, Ref, Doc, map[string]any) (Doc, error) {
	return Doc{}, &refusal{contracts.Failure{Code: "FailedPrecondition"}}
}

func TestContention(t *testing.T) {
	w := newWorld()
	w.users["acc-1"] = nil
	m := &memory{world: w}
	h, err := New(Config{Catalog: catalog(false), Store: contendedStore{m}, Accounts: m, Signals: m})
	if err != nil {
		t.Fatal(err)
	}
	rec, envelope := record(1, `{"role":"a"}`)
	err = h.Handle(t.Context(), rec, envelope)
	if contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != CodeContended {
		t.Errorf("got %v, want %s", err, CodeContended)
	}
}

// deaf are Accounts that never answer.
type deaf struct{ *memory }

func (deaf) User(ctx context.Context, _ string) (User, error) {
	<-ctx.Done()
	return User{}, ctx.Err()
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{world: newWorld()}
		h, err := New(Config{Catalog: catalog(false), Store: m, Accounts: deaf{m}, Signals: m})
		if err != nil {
			t.Fatal(err)
		}
		rec, envelope := record(1, `{"role":"a"}`)
		start := time.Now()
		err = h.Handle(t.Context(), rec, envelope)
		if contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "DeadlineExceeded" || time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %v, want an outage after 5s", err, time.Since(start))
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := h.Handle(stopped, rec, envelope); contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "Canceled" {
			t.Errorf("got %v, want a cancelled outage", err)
		}
	})
}

func TestFailed(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want []any
	}{
		{"one that knows", &contracts.Failure{Kind: contracts.Outage, Code: "Unavailable"}, []any{contracts.Outage, "Unavailable"}},
		{"a deadline", context.DeadlineExceeded, []any{contracts.Outage, "DeadlineExceeded"}},
		{"one that knows nothing", errors.New("odd"), []any{contracts.Attributable, "Unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := failed("acc-1", c.err)
			if diff := cmp.Diff(c.want, []any{f.Kind, f.Code}); diff != "" || !errors.Is(f, c.err) {
				t.Errorf("%v: %s", f, diff)
			}
		})
	}
}
