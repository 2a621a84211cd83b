package firebase

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"

	"outboxrelay/claims"
	"outboxrelay/contracts"
	localauth "outboxrelay/deploy/local/auth"
)

// googleAuth is HOST:PORT of Google's Auth emulator, for the tests on it.
const googleAuth = "OUTBOX_RELAY_GOOGLE_AUTH"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
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

// open returns the accounts of a project of the test's own, with one user, u-1; and
// the Admin SDK's client of it. The address is given by option, or by the environment.
func open(t *testing.T, address string, byOption bool) (*Accounts, *auth.Client) {
	t.Helper()
	project := "p-" + uuid.NewString()[:8]
	client := adminSDK(t, address, project)
	opts := []Option{WithEmulator(address)}
	if !byOption {
		t.Setenv(EnvEmulator, address)
		opts = nil
	}
	a, err := Open(t.Context(), project, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if _, err := client.CreateUser(t.Context(), (&auth.UserToCreate{}).UID("u-1")); err != nil {
		t.Fatal(err)
	}
	return a, client
}

// adminSDK is Firebase's own client, of an emulator.
func adminSDK(t *testing.T, address, project string) *auth.Client {
	t.Helper()
	base := newBase()
	t.Cleanup(base.CloseIdleConnections)
	owner := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: ownerToken})
	app, err := sdk.NewApp(t.Context(), &sdk.Config{ProjectID: project},
		option.WithHTTPClient(&http.Client{Transport: toEmulator{address, base}}), option.WithTokenSource(owner))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvEmulator, "") // which would win
	client, err := app.Auth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// toEmulator sends the SDK's requests for Google's host to an emulator.
type toEmulator struct {
	address string
	next    http.RoundTripper
}

func (e toEmulator) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.Clone(req.Context())
	to.URL.Path = "/" + req.URL.Host + req.URL.Path
	to.URL.Scheme, to.URL.Host, to.Host = "http", e.address, ""
	to.Header.Set("Authorization", "Bearer "+ownerToken)
	return e.next.RoundTrip(to)
}

// places are where an emulator is, and how we are told of it.
func places(t *testing.T, test func(t *testing.T, a *Accounts, sdk *auth.Client)) {
	embedded := func(t *testing.T) string { _, address := newAuth(t); return address }
	for name, address := range map[string]func(*testing.T) string{"": embedded, "Google's ": onGoogle} {
		for how, byOption := range map[string]bool{"by option": true, "by the environment": false} {
			t.Run(name+how, func(t *testing.T) {
				a, client := open(t, address(t), byOption)
				test(t, a, client)
			})
		}
	}
}

func onGoogle(t *testing.T) string {
	t.Helper()
	address := os.Getenv(googleAuth)
	if address == "" {
		t.Skip("Google's emulators are not running: see make test-emulators")
	}
	return address
}

// TestAccounts: what we do is what the Admin SDK sees, and the other way round.
func TestAccounts(t *testing.T) {
	places(t, func(t *testing.T, a *Accounts, admin *auth.Client) {
		ctx := t.Context()
		if err := a.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := a.User(ctx, "u-1"); err != nil || len(got.Claims) != 0 || got.Created.IsZero() {
			t.Errorf("a new user is %+v, %v, want when it was created, and no claims", got, err)
		}
		id := json.Number("1180591620717411303") // which no float64 holds
		given := map[string]any{"roles": []any{"<admin>"}, "claimsVersion": int64(7), "on": true, "id": id}
		want := map[string]any{"roles": []any{"<admin>"}, "claimsVersion": json.Number("7"), "on": true, "id": id}
		rounded := map[string]any{"roles": []any{"<admin>"}, "claimsVersion": 7.0, "on": true, "id": 1180591620717411303.0}
		for name, set := range map[string]func() error{
			"we":      func() error { return a.SetClaims(ctx, "u-1", given) },
			"the SDK": func() error { return admin.SetCustomUserClaims(ctx, "u-1", given) },
		} {
			if err := set(); err != nil {
				t.Fatal(err)
			}
			got, err := a.User(ctx, "u-1")
			if diff := cmp.Diff(want, got.Claims); err != nil || diff != "" {
				t.Errorf("%s set: we read %v: %s", name, err, diff)
			}
			user, err := admin.GetUser(ctx, "u-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rounded, user.CustomClaims); diff != "" {
				t.Errorf("%s set: the SDK reads %s", name, diff)
			}
			if err := a.SetClaims(ctx, "u-1", got.Claims); err != nil {
				t.Fatal(err)
			}
			if again, err := a.User(ctx, "u-1"); err != nil || !cmp.Equal(want, again.Claims) {
				t.Errorf("%s set: written back, they are %v, %v", name, again, err)
			}
			if err := a.SetClaims(ctx, "u-1", nil); err != nil {
				t.Fatal(err)
			}
			if user, err := admin.GetUser(ctx, "u-1"); err != nil || len(user.CustomClaims) > 0 {
				t.Errorf("taken away, they are %v, %v", user.CustomClaims, err)
			}
		}
		before := time.Now().Add(-time.Minute).UnixMilli()
		if err := a.RevokeTokens(ctx, "u-1"); err != nil {
			t.Error(err)
		}
		if user, err := admin.GetUser(ctx, "u-1"); err != nil || user.TokensValidAfterMillis < before {
			t.Errorf("got %+v, %v, want the tokens revoked", user, err)
		}
		for name, err := range map[string]error{
			"look up": func() error { _, err := a.User(ctx, "nobody"); return err }(),
			"set":     a.SetClaims(ctx, "nobody", map[string]any{}), "revoke": a.RevokeTokens(ctx, "nobody"),
		} {
			if contracts.KindOf(err) != contracts.Attributable || contracts.CodeOf(err) != claims.CodeUserNotFound {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := a.SetClaims(ctx, "u-1", map[string]any{"aud": 1}); contracts.KindOf(err) != contracts.Permanent || contracts.CodeOf(err) != claims.CodeReserved {
			t.Errorf("a reserved claim: got %v", err)
		}
		if err := a.SetClaims(ctx, "u-1", map[string]any{"a": strings.Repeat("a", 1000)}); contracts.KindOf(err) != contracts.Permanent || contracts.CodeOf(err) != claims.CodeTooLarge {
			t.Errorf("too many claims: got %v", err)
		}
	})
}

func TestFailures(t *testing.T) {
	server, address := newAuth(t)
	a, _ := open(t, address, true)
	for _, c := range []struct {
		name  string
		fault localauth.Fault
		kind  contracts.Kind
		code  string
		after time.Duration
	}{
		{"no permission in a 400", localauth.Fault{Status: 400, Message: "INSUFFICIENT_PERMISSION"}, contracts.Outage, "PermissionDenied", 0},
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
		if _, err := a.User(ctx, "u-1"); contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "DeadlineExceeded" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what is not sent", func(t *testing.T) {
		for name, err := range map[string]error{
			"no uid": a.RevokeTokens(t.Context(), ""), "a uid that is none": a.RevokeTokens(t.Context(), strings.Repeat("u", 129)),
			"claims that are no JSON": a.SetClaims(t.Context(), "u-1", map[string]any{"f": func() {}}),
		} {
			if contracts.KindOf(err) != contracts.Attributable || contracts.CodeOf(err) != "InvalidArgument" {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestNobodyListens(t *testing.T) {
	server, address := newAuth(t)
	a, _ := open(t, address, true)
	server.Close()
	if _, err := a.User(t.Context(), "u-1"); contracts.KindOf(err) != contracts.Outage || contracts.CodeOf(err) != "Unavailable" {
		t.Errorf("got %v", err)
	}
}

// TestStrangeAnswers: what is no answer of Identity Toolkit's is not taken for one.
func TestStrangeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   contracts.Kind
		code   string
	}{
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, contracts.Attributable, "Internal"},
		"claims are no JSON": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"users":[{"customAttributes":"{"}]}`))
		}, contracts.Attributable, "Internal"},
		"sent elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, contracts.Attributable, "Internal"},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		}, contracts.Outage, "Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { calls++; c.answer(w, r) }))
			defer server.Close()
			a, err := Open(t.Context(), "p", WithEmulator(server.Listener.Addr().String()))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if _, err := a.User(t.Context(), "u-1"); contracts.KindOf(err) != c.kind || contracts.CodeOf(err) != c.code {
				t.Errorf("got %v", err)
			}
			if calls != 1 {
				t.Errorf("%d calls were made, want 1", calls)
			}
		})
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
		if _, called := a.User(t.Context(), "u-1"); called == nil || err == nil || called.Error() != err.Error() {
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
	// The key is none, which may be found out when it is to sign.
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
