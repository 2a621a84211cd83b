package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// keysWithin bounds one fetch of Google's keys.
	keysWithin = 5 * time.Second
	// keysPause is how long a failed fetch answers for those that follow: each
	// token would ask again.
	keysPause = time.Second
	// maxKeysBytes bounds the document of keys, which has a few KiB.
	maxKeysBytes = 1 << 20
)

// keysError is a failed fetch of keys. It says nothing about the token.
type keysError struct{ err error }

func (e *keysError) Error() string { return "fetch keys: " + e.err.Error() }
func (e *keysError) Unwrap() error { return e.err }

// keyFetch fetches keys so that every failure to get them is a *keysError.
type keyFetch struct {
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex
	failed  error
	untilAt time.Time // failed stands until then
}

// RoundTrip implements http.RoundTripper.
func (k *keyFetch) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := k.recent(); err != nil {
		return nil, err
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
		return nil, err
	}
	return resp, nil
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
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &keys); err != nil || len(keys.Keys) == 0 {
		return nil, fmt.Errorf("%s answers no keys", req.URL.Host)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
