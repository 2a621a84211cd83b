package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
	"outboxrelay/dlq/dlqtest"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/trace"
)

const (
	audience    = "https://relay.example.com"
	iapAudience = "/projects/123/global/backendServices/456"
)

// issuer is shared: keys take long to make.
var issuer = sync.OnceValue(func() *authtest.Issuer {
	i, err := authtest.NewIssuer()
	if err != nil {
		panic(err)
	}
	return i
})

// realQueue is a queue on a Firestore of its own.
type realQueue struct {
	*dlq.Queue
	*trace.Finder
	t       *testing.T
	store   *dlqfirestore.Store
	server  *localfirestore.Server // nil on Google's emulator
	catalog *contracts.Catalog
}

// embedded starts a Firestore for one test.
func embedded(t *testing.T) *realQueue {
	t.Helper()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	q := connect(t, address)
	q.server = server
	return q
}

// onGoogle uses Google's emulator, or skips the test where none runs.
func onGoogle(t *testing.T) *realQueue {
	t.Helper()
	return connect(t, firestoretest.OnGoogle(t))
}

func connect(t *testing.T, address string) *realQueue {
	t.Helper()
	db := firestoretest.Client(t, address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	q := &realQueue{t: t, store: dlqfirestore.New(db), catalog: catalog}
	if q.Queue, err = dlq.New(dlq.Config{Store: q.store, Catalog: catalog}); err != nil {
		t.Fatal(err)
	}
	q.Finder = trace.New(q.store, q.Queue, catalog)
	return q
}

// die buries a dead letter of a new aggregate, as the relay does.
func (q *realQueue) die(eventType string) *dlq.Item {
	q.t.Helper()
	return q.dieOf(eventType, "acc/"+uuid.NewString()[:8])
}

// dieOf buries another record, of an aggregate.
func (q *realQueue) dieOf(eventType, aggregate string) *dlq.Item {
	q.t.Helper()
	i := dlqtest.Letter(q.catalog, "accOutbox", eventType, aggregate, 1, time.Now().UTC().Truncate(time.Microsecond))
	i.Record["payload"] = map[string]any{"secret": "x"}
	record := dlq.Write{Collection: "accOutbox", ID: i.ID, Op: dlq.OpSet, Fields: i.Record}
	if _, err := q.store.Commit(q.t.Context(), append(i.Burial(false), record)); err != nil {
		q.t.Fatal(err)
	}
	return i
}

// orphan moves an item to an outbox that the catalog does not have.
func (q *realQueue) orphan(i *dlq.Item) *dlq.Item {
	q.t.Helper()
	outbox := dlq.Write{Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: dlq.OpUpdate, Fields: map[string]any{contracts.DeadFieldOutbox: "goneOutbox"}}
	if _, err := q.store.Commit(q.t.Context(), []dlq.Write{outbox}); err != nil {
		q.t.Fatal(err)
	}
	return i
}

// ready makes what an endpoint needs, and returns a request for it and the ID of the dead letter that it is about.
func (q *realQueue) ready(e endpoint) (target, body, id string) {
	q.t.Helper()
	item := q.die("WalletDeducted")
	if slices.ContainsFunc([]string{"/authorize", "/release", "/uncover", "/{aggregateId}"}, func(end string) bool { return strings.HasSuffix(e.pattern, end) }) {
		item = q.die("RoleChanged")
	}
	if strings.HasSuffix(e.pattern, "/withdraw") {
		asked := dlq.Decide{Action: dlq.Replay, Actor: dlq.Actor{Name: "x", Role: dlq.Operator}, Reason: "x"}
		if _, err := q.Decide(q.t.Context(), item.ID, asked); err != nil {
			q.t.Fatal(err)
		}
	}
	bulk := "none"
	if e.pattern == "/replays/{id}/cancel" || e.pattern == "/replays/{id}" {
		b, err := q.StartBulk(q.t.Context(), dlq.BulkRequest{Filter: dlq.Filter{EventID: item.EventID}, Actor: dlq.Actor{Name: "x", Role: dlq.Operator}, Reason: "x"})
		if err != nil {
			q.t.Fatal(err)
		}
		bulk = b.ID
	}
	lane := contracts.BackgroundLane
	if strings.HasSuffix(e.pattern, "/pause") || strings.HasSuffix(e.pattern, "/resume") {
		_, err := q.SetLane(q.t.Context(), lane, strings.HasSuffix(e.pattern, "/resume"), dlq.Actor{Name: "x", Role: dlq.Operator}, "x")
		if _, so := err.(*dlq.Refusal); err != nil && !so && !strings.Contains(err.Error(), "already") { //nolint:errorlint // it may be so already
			q.t.Fatal(err)
		}
	}
	id = url.PathEscape(item.ID)
	if strings.HasPrefix(e.pattern, "/replays/") {
		id = bulk
	}
	target = strings.NewReplacer("{id}", id, "{aggregateId}", url.PathEscape(item.AggregateID), "{lane}", string(lane), "{traceId}", item.TraceID).Replace(e.pattern)
	if !strings.Contains(e.pattern, "{") { // it stands for itself, with its query
		target = e.target
	}
	body = e.body
	if e.pattern == "/replays" && e.method == http.MethodPost {
		body = fmt.Sprintf(`{"filter":{"eventId":%q}}`, item.EventID)
	}
	return target, body, item.ID
}

// credential is one way to ask, and the answer that it gets; 0: as the role has it.
type credential struct {
	name    string
	headers func(email string) []string
	status  int
}

func googleCredentials() []credential {
	token := func(change func(authtest.Claims) authtest.Claims) func(string) []string {
		return func(email string) []string {
			return []string{"Authorization", "Bearer " + issuer().RS256(change(authtest.Google(email, audience)))}
		}
	}
	with := func(name string, value any) func(string) []string {
		return token(func(c authtest.Claims) authtest.Claims { return c.With(name, value) })
	}
	return []credential{
		{"no token", func(string) []string { return nil }, 401},
		{"garbage", func(string) []string { return []string{"Authorization", "Bearer garbage"} }, 401},
		{"expired", with("exp", time.Now().Add(-time.Minute).Unix()), 401},
		{"wrong audience", with("aud", "https://evil.example.com"), 401},
		{"wrong issuer", with("iss", "https://evil.example.com"), 401},
		{"bad signature", func(email string) []string {
			return []string{"Authorization", "Bearer " + authtest.Truncated(issuer().RS256(authtest.Google(email, audience)))}
		}, 401},
		{"unverified email", with("email_verified", false), 401},
		{"alg none", func(email string) []string {
			return []string{"Authorization", "Bearer " + authtest.Unsigned(authtest.Google(email, audience))}
		}, 401},
		{"header of the proxy", func(email string) []string {
			return []string{"X-Goog-Iap-Jwt-Assertion", issuer().ES256(authtest.IAP(email, iapAudience)), "X-Goog-Authenticated-User-Email", email}
		}, 401},
		{"unknown identity", func(string) []string {
			return []string{"Authorization", "Bearer " + issuer().RS256(authtest.Google("mallory@example.com", audience))}
		}, 403},
		{"good", token(func(c authtest.Claims) authtest.Claims { return c }), 0},
	}
}

func proxyCredentials() []credential {
	header := func(token string) []string { return []string{"X-Goog-Iap-Jwt-Assertion", token} }
	with := func(name string, value any) func(string) []string {
		return func(email string) []string {
			return header(issuer().ES256(authtest.IAP(email, iapAudience).With(name, value)))
		}
	}
	return []credential{
		{"no token", func(string) []string { return nil }, 401},
		{"garbage", func(string) []string { return header("garbage") }, 401},
		{"expired", with("exp", time.Now().Add(-time.Minute).Unix()), 401},
		{"wrong audience", with("aud", audience), 401},
		{"wrong issuer", with("iss", "https://accounts.google.com"), 401},
		{"bad signature", func(email string) []string {
			return header(authtest.Truncated(issuer().ES256(authtest.IAP(email, iapAudience))))
		}, 401},
		{"no email", with("email", nil), 401},
		{"alg none", func(email string) []string { return header(authtest.Unsigned(authtest.IAP(email, iapAudience))) }, 401},
		{"as authorization", func(email string) []string {
			return []string{"Authorization", "Bearer " + issuer().ES256(authtest.IAP(email, iapAudience))}
		}, 401},
		{"unsigned header", func(email string) []string {
			return []string{"X-Goog-Authenticated-User-Email", "accounts.google.com:" + email}
		}, 401},
		{"unknown identity", func(string) []string {
			return header(issuer().ES256(authtest.IAP("mallory@example.com", iapAudience)))
		}, 403},
		{"good", func(email string) []string { return header(issuer().ES256(authtest.IAP(email, iapAudience))) }, 0},
	}
}

// TestEveryEndpointByRoleAndCredential asks everything as everybody, of a real queue.
func TestEveryEndpointByRoleAndCredential(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { testMatrix(t, embedded) })
	t.Run("google", func(t *testing.T) { testMatrix(t, onGoogle) })
}

func testMatrix(t *testing.T, open func(*testing.T) *realQueue) {
	q := open(t)
	roles := filepath.Join(t.TempDir(), "roles.yaml")
	yaml := "roles:\n  viewer: [viewer@example.com]\n  operator: [operator@example.com]\n  security: [security@example.com]\n"
	if err := os.WriteFile(roles, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	asked, let := 0, 0
	for _, mode := range []struct {
		mode        auth.Mode
		audience    string
		credentials []credential
	}{{auth.ModeOIDC, audience, googleCredentials()}, {auth.ModeIAP, iapAudience, proxyCredentials()}} {
		authenticator, err := auth.New(auth.Config{Mode: mode.mode, Audience: []string{mode.audience}, RolesFile: roles, Transport: issuer()})
		if err != nil {
			t.Fatal(err)
		}
		f := setup(t, over(q, q.catalog), unlimited, func(c *admin.Config) { c.Authenticator = authenticator })
		for _, e := range endpoints {
			target, body, id := q.ready(e)
			before, err := q.Item(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var allowed []func()
			for _, role := range []dlq.Role{dlq.NoRole, dlq.Viewer, dlq.Operator, dlq.Security} {
				least, _ := dlq.ParseRole(e.role)
				for _, c := range mode.credentials {
					asked++
					name := fmt.Sprintf("%s %s %s, %s, %s", mode.mode, e.method, e.pattern, role, c.name)
					headers := c.headers(role.String() + "@example.com")
					want := c.status
					if want == 0 && role < least {
						want = http.StatusForbidden
					}
					f.pass(2 * time.Second)
					if want != 0 {
						if got := f.do("", e.method, target, body, headers...); got.status != want {
							t.Errorf("%s: got %d, want %d: %s", name, got.status, want, got.body)
						}
						continue
					}
					let++
					allowed = append(allowed, func() { // later: it may change what the others must not
						target, body, _ := q.ready(e)
						if got := f.do("", e.method, target, body, headers...); got.status != e.status {
							t.Errorf("%s: got %d, want %d: %s", name, got.status, e.status, got.body)
						}
					})
				}
			}
			after, err := q.Item(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s: who was refused changed something (-before +after):\n%s", e.pattern, diff)
			}
			for _, ask := range allowed {
				ask()
			}
		}
	}
	t.Logf("%d requests: %d endpoints x 4 roles x %d credentials; %d may, %d must not", asked, len(endpoints), len(googleCredentials())+len(proxyCredentials()), let, asked-let)
}
