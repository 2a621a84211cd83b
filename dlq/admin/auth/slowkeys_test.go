package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

// slow answers with an issuer's keys after a while, unless whoever asks gives up before.
type slow struct {
	issuer *authtest.Issuer
	after  atomic.Int64 // ns
	asked  atomic.Int32
}

func (s *slow) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	select {
	case <-time.After(time.Duration(s.after.Load())):
		return s.issuer.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func (s *slow) takes(d time.Duration) { s.after.Store(int64(d)) }

// forever is longer than anybody waits: what a black hole takes to answer.
const forever = 24 * time.Hour

// slowly is set up within a bubble of synctest, with keys that take a while to come and
// may be used for an hour. Its clock is the bubble's.
func slowly(t *testing.T, issuer *authtest.Issuer) (*fixture, *slow) {
	t.Helper()
	keys := &slow{issuer: issuer}
	f := setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, Transport: keys, Now: time.Now})
	return f, keys
}

// good is a token that lasts for a day.
func good(issuer *authtest.Issuer) []string {
	claims := authtest.Google("alice@example.com", audience)
	claims["exp"] = time.Now().Add(forever).Unix()
	return bearer(issuer.RS256(claims))
}

// Pages ask for several things one after another, each with the same token. While Google's
// key server keeps silent they go on with the keys that there are.
func TestKeysThatAreThereWaitForNoSilentServer(t *testing.T) {
	issuer()
	synctest.Test(t, func(t *testing.T) {
		f, keys := slowly(t, issuer())
		token := good(issuer())
		if _, refusal := f.ask(token...); refusal != nil {
			t.Fatal(refusal)
		}
		keys.takes(forever)
		time.Sleep(2 * time.Hour) // the keys' max-age is over
		began := time.Now()
		for range 20 {
			if _, refusal := f.ask(token...); refusal != nil {
				t.Errorf("with keys from before got %v", refusal)
			}
			time.Sleep(time.Second)
		}
		if waited := time.Since(began) - 20*time.Second; waited > 2*time.Second {
			t.Errorf("20 requests within 20 s waited %v for keys, want 2 s at most", waited)
		}
		time.Sleep(10 * time.Second) // the last fetch gives up
	})
}

// What comes too late for who asked is there for the next.
func TestKeysThatComeLateAreTaken(t *testing.T) {
	issuer()
	synctest.Test(t, func(t *testing.T) {
		f, keys := slowly(t, issuer())
		token := good(issuer())
		_, _ = f.ask(token...)
		keys.takes(3 * time.Second)
		time.Sleep(2 * time.Hour)
		for range 10 {
			if _, refusal := f.ask(token...); refusal != nil {
				t.Error(refusal)
			}
			time.Sleep(5 * time.Second)
		}
		if n := keys.asked.Load(); n != 2 {
			t.Errorf("keys were asked for %d times, want 2", n)
		}
	})
}

// A token with a new key waits for it as long as need be.
func TestANewKeyIsWaitedFor(t *testing.T) {
	issuer()
	next, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	next.Suffix = "-new"
	synctest.Test(t, func(t *testing.T) {
		f, keys := slowly(t, issuer())
		_, _ = f.ask(good(issuer())...)
		keys.issuer = next
		keys.takes(3 * time.Second)
		if _, refusal := f.ask(good(next)...); refusal != nil {
			t.Errorf("got %v", refusal)
		}
	})
}

func TestManyAtOnceAskForKeysOnce(t *testing.T) {
	issuer()
	synctest.Test(t, func(t *testing.T) {
		f, keys := slowly(t, issuer())
		token := good(issuer())
		keys.takes(time.Second)
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() {
				if _, refusal := f.ask(token...); refusal != nil {
					t.Error(refusal)
				}
			})
		}
		asking.Wait()
		if n := keys.asked.Load(); n != 1 {
			t.Errorf("keys were asked for %d times, want 1", n)
		}
	})
}

// Who asked first and hangs up takes the keys from nobody.
func TestWhoHangsUpTakesKeysFromNobody(t *testing.T) {
	issuer()
	synctest.Test(t, func(t *testing.T) {
		f, keys := slowly(t, issuer())
		token := good(issuer())
		keys.takes(time.Second)
		var asking sync.WaitGroup
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/admin/v1/dlq", nil)
			r.Header.Set(token[0], token[1])
			_, err := f.auth.Authenticate(r)
			if refusal, ok := errors.AsType[*auth.Refusal](err); !ok || refusal.Kind != auth.Unavailable {
				t.Errorf("who hangs up got %v", err)
			}
		})
		asking.Go(func() {
			time.Sleep(10 * time.Millisecond)
			if _, refusal := f.ask(token...); refusal != nil {
				t.Errorf("the other got %v", refusal)
			}
		})
		asking.Wait()
		if n := keys.asked.Load(); n != 1 {
			t.Errorf("keys were asked for %d times, want 1", n)
		}
	})
}
