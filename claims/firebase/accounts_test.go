package firebase

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"outboxrelay/claims"
	"outboxrelay/contracts"
	localauth "outboxrelay/deploy/local/auth"
)

// googleAuth is HOST:PORT of Google's Auth emulator, for the tests on it.
const googleAuth = "OUTBOX_RELAY_GOOGLE_AUTH"

func TestMain(m *testing.M) {
	opts := []goleak.Option{goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")} // started by an import
	if os.Getenv(googleAuth) != "" {
		// Where the variable makes the SDK connect by itself, nobody closes that.
		opts = append(opts, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	}
	goleak.VerifyTestMain(m, opts...)
}

// newAuth starts the embedded Auth for one test.
func newAuth(t *testing.T) (*localauth.Server, string) {
	t.Helper()
	server, err := localauth.Open(localauth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	address, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return server, address
}

// open returns the accounts of a project of the test's own, with one user, u-1.
func open(t *testing.T, address string, opts ...Option) *Accounts {
	t.Helper()
	a, err := Open(t.Context(), "p-"+uuid.NewString()[:8], append([]Option{WithEmulator(address)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	client, err := a.opener.client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateUser(t.Context(), (&auth.UserToCreate{}).UID("u-1")); err != nil {
		t.Fatal(err)
	}
	return a
}

// places are where the SDK is led to an emulator.
func places(t *testing.T, test func(t *testing.T, a *Accounts)) {
	t.Run("by option", func(t *testing.T) {
		_, address := newAuth(t)
		test(t, open(t, address))
	})
	t.Run("by the environment", func(t *testing.T) {
		_, address := newAuth(t)
		t.Setenv(EnvEmulator, address)
		test(t, open(t, ""))
	})
	t.Run("Google's by option", func(t *testing.T) { test(t, open(t, onGoogle(t))) })
	t.Run("Google's by the environment", func(t *testing.T) {
		t.Setenv(EnvEmulator, onGoogle(t))
		test(t, open(t, ""))
	})
}

func onGoogle(t *testing.T) string {
	t.Helper()
	address := os.Getenv(googleAuth)
	if address == "" {
		t.Skip("Google's emulators are not running: see make test-emulators")
	}
	return address
}

func TestAccounts(t *testing.T) {
	places(t, func(t *testing.T, a *Accounts) {
		ctx := t.Context()
		if err := a.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Claims(ctx, "u-1"); err != nil || len(got) != 0 {
			t.Errorf("a new user has claims %v, %v", got, err)
		}
		if err := a.SetClaims(ctx, "u-1", map[string]any{"roles": []any{"<admin>"}, "claimsVersion": int64(7), "on": true}); err != nil {
			t.Fatal(err)
		}
		got, err := a.Claims(ctx, "u-1")
		if diff := cmp.Diff(map[string]any{"roles": []any{"<admin>"}, "claimsVersion": 7.0, "on": true}, got); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		if err := a.RevokeTokens(ctx, "u-1"); err != nil {
			t.Error(err)
		}
		client, err := a.opener.client(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if user, err := client.GetUser(ctx, "u-1"); err != nil || user.TokensValidAfterMillis == 0 {
			t.Errorf("got %+v, %v, want the tokens revoked", user, err)
		}
		for name, err := range map[string]error{
			"look up": func() error { _, err := a.Claims(ctx, "nobody"); return err }(),
			"set":     a.SetClaims(ctx, "nobody", map[string]any{}), "revoke": a.RevokeTokens(ctx, "nobody"),
		} {
			if contracts.KindOf(err) != contracts.Attributable || contracts.CodeOf(err) != claims.CodeUserNotFound {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestFailures(t *testing.T) {
	server, address := newAuth(t)
	a := open(t, address)
	for _, c := range []struct {
		name  string
		fault localauth.Fault
		kind  contracts.Kind
		code  string
		after time.Duration
	}{
		{"429 with Retry-After", localauth.Fault{Status: 429, RetryAfter: 30 * time.Second}, contracts.Outage, "ResourceExhausted", 30 * time.Second},
		{"429 without", localauth.Fault{Status: 429}, contracts.Outage, "ResourceExhausted", 0},
		{"503 with Retry-After", localauth.Fault{Status: 503, RetryAfter: 90 * time.Second}, contracts.Outage, "Unavailable", 90 * time.Second},
		{"503 without", localauth.Fault{Status: 503}, contracts.Outage, "Unavailable", 0},
		{"502", localauth.Fault{Status: 502}, contracts.Outage, "Unavailable", 0},
		{"504", localauth.Fault{Status: 504}, contracts.Outage, "DeadlineExceeded", 0},
		{"401", localauth.Fault{Status: 401}, contracts.Outage, "Unauthenticated", 0},
		{"403", localauth.Fault{Status: 403}, contracts.Outage, "PermissionDenied", 0},
		{"quota in a 400", localauth.Fault{Status: 400, Message: "QUOTA_EXCEEDED : Exceeded quota"}, contracts.Outage, "ResourceExhausted", 0},
		{"no Auth in the project", localauth.Fault{Status: 400, Message: "CONFIGURATION_NOT_FOUND"}, contracts.Outage, "NotConfigured", 0},
		{"500", localauth.Fault{Status: 500}, contracts.Attributable, "Internal", 0},
		{"501", localauth.Fault{Status: 501}, contracts.Attributable, "Internal", 0},
		{"400", localauth.Fault{Status: 400, Message: "INVALID_CLAIMS"}, contracts.Attributable, "InvalidArgument", 0},
		{"too large after all", localauth.Fault{Status: 400, Message: "CLAIMS_TOO_LARGE"}, contracts.Permanent, claims.CodeTooLarge, 0},
		{"reserved after all", localauth.Fault{Status: 400, Message: "FORBIDDEN_CLAIM : aud"}, contracts.Permanent, claims.CodeReserved, 0},
		{"connection cut", localauth.Fault{Drop: true}, contracts.Outage, "Unavailable", 0},
		{"answer lost", localauth.Fault{Drop: true, LoseResponse: true}, contracts.Outage, "Unavailable", 0},
		{"503 for an answer that was lost", localauth.Fault{Status: 503, LoseResponse: true}, contracts.Outage, "Unavailable", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fault.Method = localauth.MethodUpdate
			if _, err := server.Faults().Add(c.fault); err != nil {
				t.Fatal(err)
			}
			defer server.Faults().Clear()
			before := server.Counts().Calls[localauth.MethodUpdate]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := a.SetClaims(ctx, "u-1", map[string]any{"secret": "hush"})
			if diff := cmp.Diff([]any{c.kind, c.code}, []any{contracts.KindOf(err), contracts.CodeOf(err)}); err == nil || diff != "" {
				t.Fatalf("%v: %s", err, diff)
			}
			var asked interface{ RetryAfter() time.Duration }
			if !errors.As(err, &asked) || asked.RetryAfter() != c.after {
				t.Errorf("%v: Retry-After is not %v", err, c.after)
			}
			if made := server.Counts().Calls[localauth.MethodUpdate] - before; made != 1 {
				t.Errorf("%d calls were made, want 1", made)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("%q tells a claim's value", err)
			}
		})
	}
	t.Run("too slow", func(t *testing.T) {
		if _, err := server.Faults().Add(localauth.Fault{Delay: time.Minute}); err != nil {
			t.Fatal(err)
		}
		defer server.Faults().Clear()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := a.Claims(ctx, "u-1"); contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "DeadlineExceeded" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what the SDK refuses", func(t *testing.T) {
		if err := a.SetClaims(t.Context(), "u-1", map[string]any{"aud": 1}); contracts.KindOf(err) != contracts.Attributable || contracts.CodeOf(err) != "InvalidArgument" {
			t.Errorf("got %v", err)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	server, address := newAuth(t)
	byOption := open(t, address)
	server.Close()
	start := time.Now()
	if _, err := byOption.Claims(t.Context(), "u-1"); contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "Unavailable" {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	t.Run("by the environment", func(t *testing.T) {
		t.Setenv(EnvEmulator, address)
		a, err := Open(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := a.Claims(ctx, "u-1"); contracts.KindOf(err) != contracts.Outage {
			t.Errorf("got %v", err)
		}
	})
}

// TestFaultsInTheEnvironment: where the SDK connects by itself, it still tells
// what the answer was.
func TestFaultsInTheEnvironment(t *testing.T) {
	server, address := newAuth(t)
	t.Setenv(EnvEmulator, address)
	a := open(t, "")
	if _, err := server.Faults().Add(localauth.Fault{Status: 429, RetryAfter: time.Minute}); err != nil {
		t.Fatal(err)
	}
	_, err := a.Claims(t.Context(), "u-1")
	var asked interface{ RetryAfter() time.Duration }
	if contracts.CodeOf(err) != "ResourceExhausted" || !errors.As(err, &asked) || asked.RetryAfter() != time.Minute {
		t.Errorf("got %v", err)
	}
}

const serviceAccount = `{"type": "service_account", "project_id": "p", "client_email": "relay@p.iam.gserviceaccount.com",
	"token_uri": "http://127.0.0.1:9/token", "private_key_id": "1", "private_key": "no key"}`

// TestNoCredentials: without them each call is an outage, and they may come later.
func TestNoCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	a, err := Open(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := a.Ready(t.Context())
		if _, called := a.Claims(t.Context(), "u-1"); called == nil || err == nil || called.Error() != err.Error() {
			t.Fatalf("a call fails with %v, want %v", called, err)
		}
		if contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "NoCredentials" || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") {
			t.Errorf("got %v", err)
		}
	}
	if err := os.WriteFile(file, []byte(serviceAccount), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Ready(t.Context()); contracts.CodeOf(err) != "NoCredentials" {
		t.Errorf("got %v at once, want to look again later", err)
	}
	a.opener.tried = a.opener.tried.Add(-lookAgainAfter)
	// The key is none, which the SDK finds out when it wants to sign.
	if err := a.Ready(t.Context()); err != nil && !strings.Contains(err.Error(), "key") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.Context(), ""); err == nil {
		t.Error("want a project")
	}
	if _, err := Open(t.Context(), "p", WithEmulator("localhost")); err == nil {
		t.Error("want HOST:PORT")
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "120": 2 * time.Minute, "-5": 0, "soon": 0, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfter(http.Header{"Retry-After": {at}}); got < 50*time.Minute || got > time.Hour {
		t.Errorf("%s is %v from now", at, got)
	}
}
