package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/idtoken"
)

// maxKeysBytes bounds the document of keys, which has a few KiB.
const maxKeysBytes = 1 << 20

// keySet is a document of keys, as it was fetched.
type keySet struct {
	validator *idtoken.Validator // by these keys, and no others
	ids       []string
	at        time.Time // when it was fetched
	until     time.Time // its max-age's end
}

// has reports whether there is a key of this ID; in no set there is none.
func (s *keySet) has(id string) bool { return s != nil && slices.Contains(s.ids, id) }

// orElse is the set if it has what is needed, and otherwise why there is no newer one.
func (s *keySet) orElse(known bool, err error) (*keySet, error) {
	if known {
		return s, nil
	}
	return nil, err
}

// fetchKeys reads the whole document and checks that it is one. It follows no redirect.
func fetchKeys(ctx context.Context, by http.RoundTripper, url string, now func() time.Time) (*keySet, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := by.RoundTrip(req)
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
	var document struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(body, &document); err != nil || len(document.Keys) == 0 {
		return nil, fmt.Errorf("%s answers no keys", req.URL.Host)
	}
	validator, err := idtoken.NewValidator(context.Background(), idtoken.WithHTTPClient(&http.Client{Transport: held(body)}))
	if err != nil {
		return nil, err
	}
	s := &keySet{validator: validator, at: now()}
	s.until = s.at.Add(goodFor(resp.Header))
	for _, key := range document.Keys {
		s.ids = append(s.ids, key.ID)
	}
	return s, nil
}

// goodFor is how much is left of an answer's max-age; 0 where it says nothing of it.
func goodFor(h http.Header) time.Duration {
	var seconds int
	for directive := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			seconds, _ = strconv.Atoi(value) // 0 where it is no number
		}
	}
	if age, err := strconv.Atoi(h.Get("Age")); err == nil {
		seconds -= age
	}
	return time.Duration(min(max(seconds, 0), int(keysKept/time.Second))) * time.Second
}

// held is a document of keys that a validator is given, whenever it asks.
type held []byte

// RoundTrip implements http.RoundTripper.
func (h held) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Cache-Control": {fmt.Sprintf("max-age=%d", int(2*keysKept/time.Second))}}, Body: io.NopCloser(bytes.NewReader(h)),
	}, nil
}
