package claims

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

// TestThinEvents: where the account's document does not tell what became of what a
// thin event is about, the event is refused; no right is kept in silence.
func TestThinEvents(t *testing.T) {
	type parts = map[string]any
	whole := parts{"roles": []any{"admin"}, "policies": []any{"p"}}
	const gone, wholeText = " has no ", "want all of them, [] where none is left"
	for _, c := range []struct {
		name    string
		held    parts // the user's claims before
		before  parts // the account's document when version 3 came; nil: it did not come
		account parts // and when the next does
		event   string
		version int64
		code    string // "": carried out
		text    string
		roles   any // of the user, after
	}{
		{"roles are text", nil, whole, parts{"roles": "viewer", "policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, "the account's document: roles is no array", []any{"admin"}},
		{"roles are flags", nil, whole, parts{"roles": parts{"admin": false}, "policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, "roles is no array", []any{"admin"}},
		{"roles are null", nil, whole, parts{"roles": nil, "policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, "roles is null, want an array", []any{"admin"}},
		{"roles are of no kind that a claim has", nil, whole, parts{"roles": []any{time.Second}}, "RoleChanged", 4, CodeMalformed, "roles: a time.Duration", []any{"admin"}},
		{"roles cannot be read", nil, whole, parts{"roles": errors.New("of an unknown kind"), "role": "viewer"}, "RoleChanged", 4, CodeMalformed, "roles: of an unknown kind", []any{"admin"}},
		{"the role is empty", nil, whole, parts{"role": "", "policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, "role holds something else than text", []any{"admin"}},
		{"the first event, and roles are text", nil, nil, parts{"roles": "viewer", "policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, "roles is no array", nil},
		{"policies are null, and roles have changed", nil, whole, parts{"roles": []any{"viewer"}, "policies": nil}, "RoleChanged", 4, CodeMalformed, "policies is null", []any{"admin"}},
		{"roles are gone", nil, whole, parts{"policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, gone + "roles, and the account has: " + wholeText, []any{"admin"}},
		{"roles and policies are gone", nil, whole, parts{"name": "Ada"}, "RoleChanged", 4, CodeMalformed, gone + "roles", []any{"admin"}},
		{"policies are gone", nil, whole, parts{"roles": []any{"admin"}}, "PolicyChanged", 4, CodeMalformed, gone + "policies", []any{"admin"}},
		{"policies are gone, and an event of a type of one's own", nil, whole, parts{"roles": []any{"viewer"}}, "RightsChanged", 4, CodeMalformed, gone + "policies", []any{"admin"}},
		{"roles from before the first event are gone", parts{"roles": []any{"owner"}}, nil, parts{"policies": []any{"p"}}, "RoleChanged", 4, CodeMalformed, gone + "roles", []any{"owner"}},

		{"roles are an empty list", nil, whole, parts{"roles": []any{}, "policies": []any{"p"}}, "RoleChanged", 4, "", "", []any{}},
		{"there never were roles", nil, nil, parts{"policies": []any{"p"}}, "RoleChanged", 4, "", "", nil},
		{"roles were none, and are gone", nil, parts{"roles": []any{}, "policies": []any{}}, parts{"policies": []any{"p"}}, "RoleChanged", 4, "", "", []any{}},
		{"another part than the event's is absent", nil, whole, parts{"roles": []any{"viewer"}}, "RoleChanged", 4, "", "", []any{"viewer"}},
		{"the short form beside the long one is not read", nil, whole, parts{"roles": []any{"viewer"}, "role": nil}, "RoleChanged", 4, "", "", []any{"viewer"}},
		{"a repeat, when roles are gone", nil, whole, parts{"policies": []any{"p"}}, "RoleChanged", 3, "", "", []any{"admin"}},
		{"an older event, when roles are gone", nil, whole, parts{"policies": []any{"p"}}, "RoleChanged", 2, "", "", []any{"admin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.users["acc-1"] = c.held
			if c.before != nil {
				w.docs[accountRef("acc-1")] = Doc{Fields: c.before, UpdateTime: w.tick()}
				if err := w.handle(t, true, modelRecord{version: 3, parts: parts{}}); err != nil {
					t.Fatal(err)
				}
			}
			w.docs[accountRef("acc-1")] = Doc{Fields: c.account, UpdateTime: w.tick()}
			writes := w.writes
			rec, envelope := record(c.version, "{}")
			rec.EventType = c.event
			err := w.newHandler(catalog(true), nil).Handle(t.Context(), rec, envelope)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
			} else if contracts.KindOf(err) != contracts.Permanent || contracts.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) || w.writes != writes {
				t.Errorf("got %v after %d writes, want %s: %s", err, w.writes-writes, c.code, c.text)
			}
			if diff := cmp.Diff(c.roles, w.users["acc-1"]["roles"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
