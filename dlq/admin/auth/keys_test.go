package auth_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/dlq/admin/auth"
	"outboxrelay/dlq/admin/auth/authtest"
)

// rotation answers with the keys of one issuer, later with those of another.
type rotation struct {
	now atomic.Pointer[authtest.Issuer]
}

func (r *rotation) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.now.Load().RoundTrip(req)
}

// rotates is set up where Google's keys are those of old, and are to be those of next.
func rotates(t *testing.T) (f *fixture, keys *rotation, old, next *authtest.Issuer) {
	t.Helper()
	old = issuer()
	next, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	next.Suffix = "-new"
	keys = &rotation{}
	keys.now.Store(old)
	return setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, Transport: keys}), keys, old, next
}

func TestAnUnknownKeyFetchesKeysOnceInAWhile(t *testing.T) {
	f, keys, old, google := rotates(t)
	claims := authtest.Google("alice@example.com", audience)
	if _, refusal := f.ask(bearer(old.RS256(claims))...); refusal != nil {
		t.Fatalf("before the rotation got %v", refusal)
	}
	keys.now.Store(google)
	stranger, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	stranger.Suffix = "-made-up"
	for range 5 {
		if _, refusal := f.ask(bearer(google.RS256(claims))...); refusal != nil {
			t.Errorf("after the rotation got %v", refusal)
		}
		if _, refusal := f.ask(bearer(stranger.RS256(claims))...); refusal == nil || refusal.Kind != auth.Unauthenticated {
			t.Errorf("with a key that is made up got %v", refusal)
		}
	}
	if n := google.Fetches.Load(); n != 1 {
		t.Errorf("keys were fetched %d times within 10 s, want 1", n)
	}
	f.now = f.now.Add(11 * time.Second)
	_, _ = f.ask(bearer(stranger.RS256(claims))...)
	if n := google.Fetches.Load(); n != 2 {
		t.Errorf("keys were fetched %d times after 11 s, want 2", n)
	}
}

func TestLastKeysStandInForAWhile(t *testing.T) {
	google, err := authtest.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	google.Brief.Store(true)
	f := setup(t, auth.Config{Mode: auth.ModeOIDC, Audience: []string{audience}, Transport: google})
	claims := authtest.Google("alice@example.com", audience)
	claims["exp"] = f.now.Add(24 * time.Hour).Unix()
	token := bearer(google.RS256(claims))
	if _, refusal := f.ask(token...); refusal != nil {
		t.Fatalf("with keys got %v", refusal)
	}
	google.Away.Store(true)
	f.now = f.now.Add(11 * time.Hour)
	if _, refusal := f.ask(token...); refusal != nil {
		t.Errorf("11 h after the fetch got %v", refusal)
	}
	f.now = f.now.Add(2 * time.Hour)
	if _, refusal := f.ask(token...); refusal == nil || refusal.Kind != auth.Unavailable {
		t.Errorf("13 h after the fetch got %v, want unavailable", refusal)
	}
}

// A token with a new key is not refused for good while that key cannot be fetched, nor a
// moment longer.
func TestAKeyThatCannotBeFetchedIsNoFaultOfItsToken(t *testing.T) {
	f, keys, old, google := rotates(t)
	claims := authtest.Google("alice@example.com", audience)
	if _, refusal := f.ask(bearer(old.RS256(claims))...); refusal != nil {
		t.Fatal(refusal)
	}
	google.Away.Store(true)
	keys.now.Store(google)
	if _, refusal := f.ask(bearer(google.RS256(claims))...); refusal == nil || refusal.Kind != auth.Unavailable {
		t.Errorf("while keys cannot be fetched got %+v, want that to be said", refusal)
	}
	if _, refusal := f.ask(bearer(old.RS256(claims))...); refusal != nil {
		t.Errorf("with a key that is known got %+v", refusal)
	}
	google.Away.Store(false)
	f.now = f.now.Add(2 * time.Second)
	if _, refusal := f.ask(bearer(google.RS256(claims))...); refusal != nil {
		t.Errorf("two seconds later got %+v", refusal)
	}
}
