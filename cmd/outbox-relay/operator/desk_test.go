package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

// Whoever forgot the token or the address is told which variable it stands in.
func TestWhatIsMissingIsNamed(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	for _, tc := range []struct {
		name  string
		flags apiFlags
		err   error // nil: what the service answers
		code  int
		want  string // "": no variable is named
	}{
		{"no token", apiFlags{URL: refusing.URL}, nil, shell.ExitNotAllowed, "OUTBOX_RELAY_TOKEN"},
		{"a wrong token", apiFlags{URL: refusing.URL, Token: "t"}, nil, shell.ExitNotAllowed, ""},
		{"not the role", apiFlags{URL: refusing.URL}, &adminapi.Problem{Status: http.StatusForbidden}, shell.ExitNotAllowed, ""},
		{"a failure of another kind", apiFlags{URL: defaultURL}, errors.New("no space left"), shell.ExitFailed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.flags.ask(shell.Process{Env: shell.LookupIn(nil)}, func(d *desk) error {
				if tc.err != nil {
					return tc.err
				}
				_, err := d.Get(t.Context(), "/dlq", nil, nil)
				return err
			})
			if shell.Code(err) != tc.code || err == nil || strings.Contains(err.Error(), "OUTBOX_RELAY_") != (tc.want != "") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("exit code %d, %v; want %d and %q", shell.Code(err), err, tc.code, tc.want)
			}
		})
	}
}

// Where no address was given, nobody can be found on this machine.
func TestAddressThatIsMissingIsNamed(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	client, err := adminapi.New(adminapi.Config{URL: gone.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, unreachable := client.Post(t.Context(), "/dlq", nil, nil)
	if err := (&apiFlags{URL: defaultURL}).hint(unreachable); err == nil || !strings.Contains(err.Error(), "OUTBOX_RELAY_URL") {
		t.Errorf("without an address: %v", err)
	}
	if err := (&apiFlags{URL: gone.URL}).hint(unreachable); err == nil || strings.Contains(err.Error(), "OUTBOX_RELAY_URL") {
		t.Errorf("with an address: %v", err)
	}
}
