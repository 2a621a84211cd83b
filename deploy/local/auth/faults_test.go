package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/auth"
)

// attempt makes one call, which no client retries, and says how it ended: its
// status, or 0 for a connection that was cut.
func attempt(t *testing.T, addr, method, body string) (status int, retryAfter string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+toolkit+"projects/p/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", owner)
	resp, err := http.DefaultClient.Do(req)
	if errors.Is(err, io.EOF) {
		return 0, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

const (
	setA   = `{"localId":"alice","customAttributes":"{\"a\":1}"}`
	revoke = `{"localId":"alice","validSince":1}`
	setBob = `{"localId":"bob","customAttributes":"{\"a\":1}"}`
)

// setup starts a server with users alice and bob.
func setup(t *testing.T) (*auth.Server, string) {
	t.Helper()
	s, addr := start(t, auth.Options{})
	for _, uid := range []string{"alice", "bob"} {
		if status, _ := attempt(t, addr, auth.MethodCreate, `{"localId":"`+uid+`"}`); status != http.StatusOK {
			t.Fatalf("create %s = %d", uid, status)
		}
	}
	return s, addr
}

func TestFaults(t *testing.T) {
	type call struct{ method, body string }
	set, of, rev, look := call{auth.MethodUpdate, setA}, call{auth.MethodUpdate, setBob}, call{auth.MethodUpdate, revoke}, call{auth.MethodLookup, `{"localId":["alice"]}`}
	for _, tt := range []struct {
		name  string
		fault auth.Fault
		calls []call
		want  []int // status of each; 0: cut
	}{
		{"every call", auth.Fault{Status: 500}, []call{set, look}, []int{500, 500}},
		{"one method", auth.Fault{Method: auth.MethodUpdate, Status: 403}, []call{set, look}, []int{403, 200}},
		{"one account", auth.Fault{Account: "alice", Status: 503}, []call{set, of, look}, []int{503, 200, 503}},
		{"one use of a method", auth.Fault{Field: "validSince", Status: 429}, []call{set, rev}, []int{200, 429}},
		{"the second and the third", auth.Fault{Skip: 1, Times: 2, Status: 500}, []call{set, set, look, set}, []int{200, 500, 500, 200}},
		{"a cut connection", auth.Fault{Times: 1, Drop: true}, []call{set, set}, []int{0, 200}},
		{"a mere delay", auth.Fault{Delay: time.Millisecond}, []call{set}, []int{200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, addr := setup(t)
			if _, err := s.Faults().Add(tt.fault); err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, c := range tt.calls {
				status, _ := attempt(t, addr, c.method, c.body)
				got = append(got, status)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALostAnswerIsOfACallThatTookEffect(t *testing.T) {
	for name, fault := range map[string]auth.Fault{
		"cut":      {LoseResponse: true, Drop: true, Times: 1},
		"a status": {LoseResponse: true, Status: 503, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, addr := setup(t)
			if _, err := s.Faults().Add(fault); err != nil {
				t.Fatal(err)
			}
			if status, _ := attempt(t, addr, auth.MethodUpdate, setA); status != fault.Status {
				t.Errorf("status = %d, want %d", status, fault.Status)
			}
			got := must(dial(t, addr).GetUser(t.Context(), "alice")).CustomClaims
			if diff := cmp.Diff(map[string]any{"a": 1.0}, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if got := s.Counts().Failed[auth.MethodUpdate]; got != 1 {
				t.Errorf("failed updates = %d, want 1", got)
			}
		})
	}
}

func TestRetryAfterIsInWholeSeconds(t *testing.T) {
	s, addr := setup(t)
	if _, err := s.Faults().Add(auth.Fault{Status: 429, Message: "QUOTA_EXCEEDED", RetryAfter: 1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if status, after := attempt(t, addr, auth.MethodUpdate, setA); status != 429 || after != "2" {
		t.Errorf("status %d, Retry-After %q; want 429, 2", status, after)
	}
}

func TestCloseEndsACallThatIsHeld(t *testing.T) {
	s, addr := setup(t)
	if _, err := s.Faults().Add(auth.Fault{Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+toolkit+"projects/p/accounts", strings.NewReader("{}"))
		if err == nil {
			req.Header.Set("Authorization", owner)
			_, err = http.DefaultClient.Do(req)
		}
		ended <- err
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.Faults().List()[0].Hit == 0 {
		select {
		case <-ctx.Done():
			t.Fatal("the call never came")
		case <-tick.C:
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the held call ended with %v, want a cut connection", err)
	}
}

func TestFaultsAreValidated(t *testing.T) {
	s, _ := start(t, auth.Options{})
	for name, tt := range map[string]struct {
		fault auth.Fault
		want  string
	}{
		"nothing":              {auth.Fault{}, "a fault needs"},
		"an unknown method":    {auth.Fault{Method: "accounts:fly", Drop: true}, "no method"},
		"a share over all":     {auth.Fault{Share: 2, Drop: true}, "share"},
		"a status of success":  {auth.Fault{Status: 200}, "status is 200"},
		"a negative delay":     {auth.Fault{Delay: -1, Drop: true}, "negative"},
		"cut, with a status":   {auth.Fault{Drop: true, Status: 500}, "no status"},
		"a header of no fault": {auth.Fault{Drop: true, RetryAfter: 1}, "need a status"},
		"losing nothing":       {auth.Fault{LoseResponse: true, Delay: 1}, "a fault needs"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Faults().Add(tt.fault); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Add = %v, want %q in it", err, tt.want)
			}
		})
	}
}
