package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestPanicsAreProblems(t *testing.T) {
	f := setup(t)
	f.queue.panics = "the payload is hunter2"
	a := f.do("dev-operator", http.MethodPost, "/dlq/x/replay", because)
	a.refused(http.StatusInternalServerError, "the service failed")
	if strings.Contains(string(a.body), "hunter2") {
		t.Error("the answer tells what the panic said")
	}
	logged := f.logs.FilterMessage("admin request panicked").All()
	if len(logged) != 1 || strings.Contains(fmt.Sprint(logged[0].ContextMap()["panic"]), "hunter2") {
		t.Errorf("got %v", logged)
	}
	f.queue.panics = nil
	if a := f.do("dev-operator", http.MethodPost, "/dlq/x/replay", because); a.status != http.StatusAccepted {
		t.Errorf("after a panic got %d", a.status)
	}
}

// TestInstanceIsAnAddress: what was asked for is repeated so that it can be asked for
// again, whatever stands in it.
func TestInstanceIsAnAddress(t *testing.T) {
	f := setup(t)
	for _, path := range []string{
		"/dlq/a%20b%22c/replay", "/dlq/7f0c:acc-1:3/replay", "/dlq/%E2%80%AE%5C/replay", "/dlq/accOutbox%2Fa/replay", "/dlq/a%5Bb%5D/replay",
		"/dlq/x%23y/nothing", "/%3Cscript%3E", "/dlq/%FF/replay",
	} {
		got := f.do("dev-operator", http.MethodPost, path, `{"reason": 1}`).problem()
		if want := admin.Prefix + path; got.Instance != want {
			t.Errorf("got the instance %q, want %q", got.Instance, want)
		}
		if _, err := url.Parse(got.Instance); err != nil {
			t.Error(err)
		}
	}
}

func TestSlowQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.queue.block = true
		began := time.Now()
		a := f.do("dev-viewer", http.MethodGet, "/dlq", "")
		a.refused(http.StatusServiceUnavailable, "Firestore did not answer within 15s: DeadlineExceeded")
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it took %s", took)
		}
		if a.header.Get("Retry-After") == "" {
			t.Error("nothing says when to ask again")
		}
		f.do("dev-operator", http.MethodPost, "/dlq/x/replay", because).refused(http.StatusServiceUnavailable, "not known whether")
	})
}

// TestSilenceTellsWhatWasSaidLast: Firestore may have said why, or refused in the end.
func TestSilenceTellsWhatWasSaidLast(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		says   string
	}{
		"":                  {http.StatusServiceUnavailable, "Firestore did not answer within 15s: DeadlineExceeded"},
		"DeadlineExceeded":  {http.StatusServiceUnavailable, "Firestore did not answer within 15s: DeadlineExceeded"},
		"Canceled":          {http.StatusServiceUnavailable, "Firestore did not answer within 15s: DeadlineExceeded"},
		"Unavailable":       {http.StatusServiceUnavailable, "Firestore did not answer within 15s: Unavailable"},
		"ResourceExhausted": {http.StatusServiceUnavailable, "Firestore did not answer within 15s: ResourceExhausted"},
		"PermissionDenied":  {http.StatusInternalServerError, "Firestore refuses the service: PermissionDenied"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := setup(t)
			f.queue.block = true
			if code != "" {
				f.queue.err = fmt.Errorf("read dead letters: %w", storeError(code))
			}
			f.do("dev-viewer", http.MethodGet, "/dlq", "").refused(want.status, want.says)
			if want.status != http.StatusServiceUnavailable {
				return
			}
			for _, ask := range []string{http.MethodGet, http.MethodPost} {
				target, body := "/dlq/x", ""
				if ask == http.MethodPost {
					target, body = "/dlq/x/replay", because
				}
				f.do("dev-operator", ask, target, body).refused(want.status, "whether Firestore is slow or away")
			}
		})
	}
}

// storeError is a failed call to Firestore.
type storeError string

func (e storeError) Error() string       { return "firestore: " + string(e) }
func (e storeError) FailureCode() string { return string(e) }

func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		says   string
	}{
		{"not found", &dlq.Refusal{Kind: dlq.NotFound, Detail: "d", Hint: "h"}, 404, `"detail":"d","hint":"h"`},
		{"forbidden", &dlq.Refusal{Kind: dlq.Forbidden, Detail: "d"}, 403, `"detail":"d"`},
		{"conflict", fmt.Errorf("replay dead letter: %w", &dlq.Refusal{Kind: dlq.Conflict, Detail: "d"}), 409, `"detail":"d"`},
		{"changed", &dlq.Refusal{Kind: dlq.Changed, Detail: "d"}, 412, `"detail":"d"`},
		{"invalid", &dlq.Refusal{Kind: dlq.Invalid, Detail: "d"}, 422, `"detail":"d"`},
		{"away", fmt.Errorf("read dead letter: %w", storeError("Unavailable")), 503, "Firestore cannot be reached now: Unavailable"},
		{"away, of a work queue", fmt.Errorf("count documents: %w", status.Error(codes.Unavailable, "no")), 503, "Firestore cannot be reached now: Unavailable"},
		{"over quota", storeError("ResourceExhausted"), 503, "Firestore answers ResourceExhausted now"},
		{"no access", storeError("PermissionDenied"), 500, "Firestore refuses the service: PermissionDenied"},
		{"no access to a work queue", status.Error(codes.PermissionDenied, "no"), 500, "Firestore refuses the service: PermissionDenied"},
		{"no index", storeError("FailedPrecondition"), 500, "doctor"},
		{"impossible value", storeError("InvalidArgument"), 422, "takes no such value"},
		{"anything else", errors.New("secret cause"), 500, "the service failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := setup(t)
			f.queue.err = tt.err
			for _, e := range endpoints {
				if e.pattern == "/lanes" || e.pattern == "/outboxes" || e.pattern == "/targets" || e.pattern == "/openapi.json" {
					continue
				}
				f.pass(time.Second)
				a := f.do("dev-security", e.method, e.target, e.body)
				a.refused(tt.status, tt.says)
				if strings.Contains(string(a.body), "secret cause") {
					t.Errorf("%s %s tells the cause", e.method, e.target)
				}
				if tt.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
					t.Errorf("%s %s: no Retry-After", e.method, e.target)
				}
				unknown := strings.Contains(string(a.body), "not known whether")
				if want := e.method == http.MethodPost && (tt.status == http.StatusServiceUnavailable || tt.name == "anything else"); unknown != want {
					t.Errorf("%s %s: says that the outcome is unknown: %t, want %t", e.method, e.target, unknown, want)
				}
			}
		})
	}
}
