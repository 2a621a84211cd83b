package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

func TestModeOff(t *testing.T) {
	f := setup(t, auth.Config{})
	_, refusal := f.ask(bearer("dev-security")...)
	if refusal == nil || refusal.Kind != auth.Off || !strings.Contains(refusal.Detail, "set AUTH_MODE") {
		t.Errorf("got %v, want that it is off", refusal)
	}
}

func TestModeDev(t *testing.T) {
	f := setup(t, auth.Config{Mode: auth.ModeDev, ListenAddr: "127.0.0.1:8080"})
	for token, want := range map[string]dlq.Role{
		"dev-viewer": dlq.Viewer, "dev-operator": dlq.Operator, "dev-security": dlq.Security, "dev-security-2": dlq.Security,
	} {
		who, refusal := f.ask(bearer(token)...)
		if refusal != nil || who != (auth.Identity{Name: token, Role: want}) {
			t.Errorf("%s: got %v and %v", token, who, refusal)
		}
	}
	for _, headers := range [][]string{nil, bearer("dev"), bearer("dev-securit"), bearer("dev-security-3"), bearer("DEV-VIEWER")} {
		if who, refusal := f.ask(headers...); refusal == nil || refusal.Kind != auth.Unauthenticated || refusal.Challenge == "" {
			t.Errorf("%v: got %v and %v, want a challenge", headers, who, refusal)
		}
	}
}

func TestModeDevAnswersLoopbackAlone(t *testing.T) {
	f := setup(t, auth.Config{Mode: auth.ModeDev, ListenAddr: "localhost:0"})
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "localhost:8080": true, "LOCALHOST": true, "[::1]:8080": true, "[::1]": true, "127.3.2.1:80": true,
		"evil.example.com": false, "evil.example.com:8080": false, "localhost.evil.example.com": false, "": false, "10.0.0.1:8080": false,
		"0.0.0.0:8080": false, "127.0.0.1.nip.io": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = host
		r.Header.Set("Authorization", "Bearer dev-viewer")
		_, refusal := f.authenticate(r)
		if got := refusal == nil; got != want {
			t.Errorf("Host %q: let in %t, want %t", host, got, want)
		}
		if refusal != nil && refusal.Kind != auth.Forbidden {
			t.Errorf("Host %q: got %s, want forbidden", host, refusal.Kind)
		}
	}
}

func TestCheckLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:8080": true, "[::1]:0": true, "127.9.9.9:1": true, "[::ffff:127.0.0.1]:1": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "10.0.0.1:8080": false, "relay.example.com:8080": false, "127.0.0.1": false, "": false,
	} {
		if err := auth.CheckLoopback(addr); (err == nil) != want {
			t.Errorf("%q: got %v, want loopback %t", addr, err, want)
		}
	}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name   string
		config auth.Config
		want   []string // parts of the error; none: valid
	}{
		{"off", auth.Config{}, nil},
		{"oidc", auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, RolesFile: "roles.yaml"}, nil},
		{"all missing", auth.Config{Mode: auth.ModeOIDC}, []string{"needs an audience", "needs a roles file"}},
		{"empty audience", auth.Config{Mode: auth.ModeIAP, Audience: []string{""}, RolesFile: "roles.yaml"}, []string{"audience is empty"}},
		{"dev on loopback", auth.Config{Mode: auth.ModeDev, ListenAddr: "127.0.0.1:0"}, nil},
		{"dev for everybody", auth.Config{Mode: auth.ModeDev, ListenAddr: "0.0.0.0:8080"}, []string{"not loopback"}},
		{"dev for nobody knows whom", auth.Config{Mode: auth.ModeDev}, []string{"mode dev"}},
		{"unknown", auth.Config{Mode: "basic"}, []string{`"basic" is none of`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Validate()
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want it to say %q", err, part)
				}
			}
			if _, newErr := auth.New(tt.config); err != nil && newErr == nil {
				t.Error("New takes what Validate refuses")
			}
		})
	}
}
