package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSettings(t *testing.T) {
	const enough = "roles: {viewer: [v@example.com], operator: [o@example.com], security: [s@example.com, t@example.com]}"
	iap := func(t *testing.T, audience, roles string) auth.Config {
		return auth.Config{Mode: auth.ModeIAP, Audience: []string{audience}, RolesFile: file(t, roles)}
	}
	const good = "/projects/123456789/locations/europe-west1/services/outbox-relay"
	oidc := func(t *testing.T, audience string) auth.Config {
		c := iap(t, audience, enough)
		c.Mode = auth.ModeOIDC
		return c
	}
	onCloudRun := func(name string) string { return map[string]string{"K_SERVICE": "outbox-relay"}[name] }
	for _, tc := range []struct {
		name   string
		change func(*testing.T, *doctor.Config)
		want   []string
		says   string // of the first
	}{
		{"nothing wrong", func(t *testing.T, c *doctor.Config) { c.Access = iap(t, good, enough) }, nil, ""},
		{"nobody may", func(*testing.T, *doctor.Config) {}, nil, ""}, // see besides
		{"no project", func(_ *testing.T, c *doctor.Config) { c.Project = "" }, []string{"settings.project fail"}, "no project"},
		{"a long stop", func(_ *testing.T, c *doctor.Config) { c.StopBudget = 10 * time.Second }, []string{"settings.stop warn"}, "kills after 10s"},
		{"what serve refuses", func(_ *testing.T, c *doctor.Config) { c.Refusals = []error{errors.New("a bad endpoint")} }, []string{"settings.refused fail"}, "a bad endpoint"},
		{"loopback on Cloud Run", func(_ *testing.T, c *doctor.Config) { c.Host, c.Env = "127.0.0.1", onCloudRun }, []string{"settings.address fail", "settings.memory warn"}, "do not reach it"},
		{"no memory limit on Cloud Run", func(_ *testing.T, c *doctor.Config) { c.Env = onCloudRun }, []string{"settings.memory warn"}, "no memory limit"},

		{"a backend service", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, "/projects/1/global/backendServices/2", enough)
		}, nil, ""},
		{"a regional backend service", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, "/projects/1/europe-west1/backendServices/2", enough)
		}, nil, ""},
		{"a URL for IAP", func(t *testing.T, c *doctor.Config) { c.Access = iap(t, "https://r.example.com", enough) }, []string{"access.audience fail https://r.example.com"}, "every token would be refused"},
		{"a project's ID for its number", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, "/projects/my-project/global/backendServices/2", enough)
		}, []string{"access.audience fail /projects/my-project/global/backendServices/2"}, ""},
		{"oidc", func(t *testing.T, c *doctor.Config) { c.Access = oidc(t, "https://r.example.com") }, nil, ""},
		{"a client ID", func(t *testing.T, c *doctor.Config) { c.Access = oidc(t, "1-a.apps.googleusercontent.com") }, nil, ""},
		{"a slash at its end", func(t *testing.T, c *doctor.Config) { c.Access = oidc(t, "https://r.example.com/") }, []string{"access.audience warn https://r.example.com/"}, "letter by letter"},
		{"any word", func(t *testing.T, c *doctor.Config) { c.Access = oidc(t, "relay") }, []string{"access.audience warn relay"}, "neither"},
		{"no audience", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, enough)
			c.Access.Audience = nil
		}, []string{"access.mode fail"}, "needs an audience"},
		{"no roles file", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, enough)
			c.Access.RolesFile = ""
		}, []string{"access.mode fail"}, "needs a roles file"},
		{"dev on the network", func(_ *testing.T, c *doctor.Config) {
			c.Access = auth.Config{Mode: auth.ModeDev, ListenAddr: "0.0.0.0:8080"}
		}, []string{"access.mode fail"}, "not loopback"},
		{"a roles file that is not there", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, enough)
			c.Access.RolesFile = "/nonexistent.yaml"
		}, []string{"access.roles fail"}, "no such file"},
		{"a broken roles file", func(t *testing.T, c *doctor.Config) { c.Access = iap(t, good, "roles:\n  boss: [a@example.com]\n") }, []string{"access.roles fail"}, `roles.yaml:2: role "boss"`},
		{"no security", func(t *testing.T, c *doctor.Config) { c.Access = iap(t, good, "roles: {operator: [a@example.com]}") }, []string{"access.roles fail"}, "nobody has the role security"},
		{"one security", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, "roles: {operator: [a@example.com], security: [b@example.com]}")
		}, []string{"access.roles warn"}, "one address alone"},
		{"one person where two are needed", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, "roles: {viewer: [a@example.com], security: [b@example.com]}")
			c.Catalog = twoPersons
		}, []string{"access.roles fail"}, "twoPersonRule"},
		{"a roles file for everybody to write", func(t *testing.T, c *doctor.Config) {
			c.Access = iap(t, good, enough)
			if err := os.Chmod(c.Access.RolesFile, 0o666); err != nil {
				t.Fatal(err)
			}
		}, []string{"access.roles warn"}, "may write the file"},

		{"no catalog", func(_ *testing.T, c *doctor.Config) {
			c.Catalog, c.CatalogFile = func() (*contracts.Catalog, error) { return nil, errors.New("catalog.yaml:3: nonsense") }, "catalog.yaml"
		}, []string{"catalog fail"}, "catalog.yaml:3"},
		{"a warning of the catalog", func(_ *testing.T, c *doctor.Config) {
			c.Catalog = func() (*contracts.Catalog, error) {
				catalog, err := contracts.DefaultCatalog()
				if err != nil {
					return nil, err
				}
				changed := *catalog
				changed.Warnings = []string{"catalog.yaml:9: no order between lanes"}
				return &changed, nil
			}
		}, []string{"catalog warn"}, "no order between lanes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := settings()
			c.Offline = true
			tc.change(t, &c)
			r := doctor.Examine(t.Context(), c)
			expect(t, r, tc.want...)
			if tc.says == "" {
				return
			}
			check, _, _ := strings.Cut(tc.want[0], " ")
			var said []string
			for _, f := range r.Of(check) {
				said = append(said, f.Detail)
			}
			if !strings.Contains(strings.Join(said, "\n"), tc.says) {
				t.Errorf("%s says %q, want %q", check, said, tc.says)
			}
		})
	}
}

// twoPersons is the default catalog, with the rule for what is blocked.
func twoPersons() (*contracts.Catalog, error) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		return nil, err
	}
	for _, o := range catalog.Outboxes {
		for _, event := range o.Events {
			event.TwoPersonRule = event.Tier == contracts.SecurityBlock
		}
	}
	return catalog, nil
}

// An examination of settings asks nobody.
func TestOfflineAsksNobody(t *testing.T) {
	c := settings()
	c.Offline, c.Firestore, c.PubSub, c.Auth = true, "192.0.2.1:1", "192.0.2.1:1", "192.0.2.1:1"
	for _, g := range doctor.Examine(t.Context(), c).Groups {
		if g.Name != "settings" && g.Name != "access" && g.Name != "catalog" {
			t.Errorf("group %s was looked at", g.Name)
		}
	}
}
