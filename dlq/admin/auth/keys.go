package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// keysWithin bounds one fetch of Google's keys.
	keysWithin = 5 * time.Second
	// keysPause is how long a failed fetch answers for those that follow: each
	// token would ask again.
	keysPause = time.Second
	// keysRenewal is how often, at most, tokens with an unknown key make for a
	// fetch before the keys' max-age is over: anybody can make up keys.
	keysRenewal = 10 * time.Second
	// keysKept is how long after their fetch keys stand in for those that cannot
	// be fetched. Google has them cached for some 6 hours: an outage of as long
	// again signs nobody out, and a key that Google withdrew is trusted no longer.
	keysKept = 12 * time.Hour
	// maxKeysBytes bounds the document of keys, which has a few KiB.
	maxKeysBytes = 1 << 20
)

// keysError is a failed fetch of keys. It says nothing about the token.
type keysError struct{ err error }

func (e *keysError) Error() string { return "fetch keys: " + e.err.Error() }
func (e *keysError) Unwrap() error { return e.err }

// keyFetch fetches keys so that every failure to get them is a *keysError. The
// last ones stand in for a while for those that cannot be fetched.
type keyFetch struct {
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex
	failed  error
	untilAt time.Time // failed stands until then
	last    []byte    // the keys that were fetched last
	ids     []string  // of last
	at      time.Time // when last was fetched
	fetches int       // that succeeded
	stoodIn int       // how often last stood in for a fetch that failed
}

// RoundTrip implements http.RoundTripper.
func (k *keyFetch) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := k.recent(); err != nil {
		return k.orLast(req, err)
	}
	ctx, cancel := context.WithTimeout(req.Context(), keysWithin)
	defer cancel()
	resp, err := k.fetch(req.Clone(ctx))
	if err != nil {
		err = &keysError{err}
		if req.Context().Err() == nil { // else it is who asks that has gone, not Google
			k.mu.Lock()
			k.failed, k.untilAt = err, k.now().Add(keysPause)
			k.mu.Unlock()
		}
		return k.orLast(req, err)
	}
	return resp, nil
}

// orLast answers with the last keys, not to be cached, while they may be used.
func (k *keyFetch) orLast(req *http.Request, err error) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetches == 0 || k.now().Sub(k.at) > keysKept {
		return nil, err
	}
	k.stoodIn++
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(k.last)),
	}, nil
}

// lacks reports whether the keys that were fetched last have none of this ID.
func (k *keyFetch) lacks(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fetches > 0 && !slices.Contains(k.ids, id)
}

// asked returns how often keys were fetched so far, and how often the last ones stood
// in for those that could not be.
func (k *keyFetch) asked() (fetches, stoodIn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fetches, k.stoodIn
}

func (k *keyFetch) recent() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Before(k.untilAt) {
		return k.failed
	}
	return nil
}

// fetch reads the whole document and checks that it is one.
func (k *keyFetch) fetch(req *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", req.URL.Host, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeysBytes))
	if err != nil {
		return nil, err
	}
	var keys struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(body, &keys); err != nil || len(keys.Keys) == 0 {
		return nil, fmt.Errorf("%s answers no keys", req.URL.Host)
	}
	ids := make([]string, len(keys.Keys))
	for n, key := range keys.Keys {
		ids[n] = key.ID
	}
	k.mu.Lock()
	k.last, k.ids, k.at = body, ids, k.now()
	k.fetches++
	k.mu.Unlock()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
