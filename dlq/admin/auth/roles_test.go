package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

func (f *fixture) roleOf(email string) dlq.Role {
	f.t.Helper()
	who, _ := f.ask(bearer(issuer().RS256(authtest.Google(email, audience)))...)
	return who.Role
}

func TestRolesHighestCounts(t *testing.T) {
	f := setupOIDC(t)
	for email, want := range map[string]dlq.Role{
		"carol@example.com": dlq.Viewer, "alice@example.com": dlq.Operator, "bob@example.com": dlq.Security, "mallory@example.com": dlq.NoRole,
	} {
		if got := f.roleOf(email); got != want {
			t.Errorf("%s has %s, want %s", email, got, want)
		}
	}
}

func TestRolesFileForms(t *testing.T) {
	for name, yaml := range map[string]string{
		"by role":        "roles:\n  viewer: [carol@example.com]\n  operator: [alice@example.com]\n  security: [bob@example.com]\n",
		"by identity":    "roles:\n  carol@example.com: viewer\n  Alice@Example.com: operator\n  bob@example.com: security\n",
		"as identities":  "identities:\n  carol@example.com: viewer\n  alice@example.com: operator\n  bob@example.com: security\n",
		"side by side":   "roles:\n  viewer: [carol@example.com, alice@example.com]\n  alice@example.com: operator\nidentities:\n  bob@example.com: security\n",
		"highest counts": "roles:\n  viewer: [carol@example.com, alice@example.com]\n  security: [bob@example.com]\nidentities:\n  bob@example.com: viewer\n  alice@example.com: operator\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := setupOIDC(t)
			f.write(yaml)
			f.now = f.now.Add(2 * time.Second)
			for email, want := range map[string]dlq.Role{
				"carol@example.com": dlq.Viewer, "alice@example.com": dlq.Operator, "bob@example.com": dlq.Security, "mallory@example.com": dlq.NoRole,
			} {
				if got := f.roleOf(email); got != want {
					t.Errorf("%s has %s, want %s", email, got, want)
				}
			}
		})
	}
}

func TestRolesReload(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	f := setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, Log: zap.New(core)})
	// later moves on to when the file is looked at again.
	later := func() { f.now = f.now.Add(2 * time.Second) }
	want := func(step string, role dlq.Role, errs int) {
		t.Helper()
		if got := f.roleOf("carol@example.com"); got != role {
			t.Errorf("%s: carol has %s, want %s", step, got, role)
		}
		if got := logs.FilterLevelExact(zap.ErrorLevel).Len(); got != errs {
			t.Errorf("%s: %d errors are logged, want %d", step, got, errs)
		}
	}
	want("at the start", dlq.Viewer, 0)
	f.write("roles:\n  security: [carol@example.com]\n")
	want("before it is looked at", dlq.Viewer, 0)
	later()
	want("changed", dlq.Security, 0)
	f.write("roles:\n  viewr: [carol@example.com]\n")
	later()
	want("with a fault", dlq.Security, 1)
	later()
	want("with the same fault", dlq.Security, 1)
	if err := os.Remove(f.roles); err != nil {
		t.Fatal(err)
	}
	later()
	want("gone", dlq.Security, 2)
	later()
	want("still gone", dlq.Security, 2)
	f.write("roles:\n  operator: [carol@example.com]\n")
	later()
	want("mended", dlq.Operator, 2)
}

func TestRolesFaults(t *testing.T) {
	tests := []struct {
		name, yaml string
		want       []string
	}{
		{"empty", "", []string{":1: the file is empty"}},
		{"no mapping", "- a\n", []string{":1: the file is not a mapping"}},
		{"no roles", "people: {}\n", []string{`:1: "people" is not known`, ":1: roles is missing"}},
		{"roles is a list", "roles: [a]\n", []string{":1: roles is not a mapping"}},
		{"all at once", "roles:\n  viewr: []\n  operator: alice@example.com\n  security:\n    - bob\n    - 17\n    - [x]\n    - b@example.com\n    - B@example.com\n", []string{
			`:2: role "viewr" is none of [viewer operator security]`, ":3: role operator is not a list", `:5: "bob" is not an email address`,
			`:6: "17" is not an email address`, `:7: "" is not an email address`, ":9: b@example.com stands twice under security",
		}},
		{"identities, all at once", "identities:\n  viewer: [a@example.com]\n  a@example.com: boss\n  b@example.com: [viewer]\n  c@example.com:\n  d@example.com: viewer\n  D@example.com: security\n", []string{
			`:2: "viewer" is not an email address`, `:3: role "boss" of a@example.com is none of [viewer operator security]`,
			`:4: role "" of b@example.com is none of`, `:5: role "" of c@example.com is none of`, ":7: d@example.com stands twice",
		}},
		{"identities under roles", "roles:\n  '@b': viewer\n  a@example.com: boss\n", []string{`:2: "@b" is not an email address`, `:3: role "boss" of a@example.com`}},
		{"role twice", "roles:\n  viewer: [a@example.com]\n  viewer: [b@example.com]\n", []string{`:3: "viewer" stands twice`}},
		{"two documents", "roles: {}\n---\nroles: {}\n", []string{"more than one YAML document"}},
		{"no YAML", "roles: [\n", []string{"yaml: line"}},
		{"spaces in an address", "roles:\n  viewer: ['a b@example.com']\n", []string{`"a b@example.com" is not an email address`}},
		{"too long", "roles: {}\n" + strings.Repeat("# comment\n", 110_000), []string{"more than 1048576"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "roles.yaml")
			if err := os.WriteFile(path, []byte(tt.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := auth.New(auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, RolesFile: path})
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v\nwant it to say %q", err, part)
				}
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, err := auth.New(auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, RolesFile: filepath.Join(t.TempDir(), "none")}); err == nil {
			t.Error("it was taken")
		}
	})
	t.Run("nobody in a role", func(t *testing.T) {
		f := setupOIDC(t)
		f.write("roles:\n  viewer:\n  operator: []\n  security: [bob@example.com]\n")
		f.now = f.now.Add(2 * time.Second)
		if got := f.roleOf("carol@example.com"); got != dlq.NoRole {
			t.Errorf("carol has %s, want none", got)
		}
	})
}
