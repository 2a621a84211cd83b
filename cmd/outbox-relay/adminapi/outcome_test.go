package adminapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"outboxrelay/dlq"
)

func TestOutcomeOfAChangeWithoutAnswerIsUnknown(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	for name, tc := range map[string]struct {
		url    string // "": of a service that does what handle says
		handle http.HandlerFunc
		told   bool
	}{
		"nobody is there":       {url: away.URL},
		"the connection breaks": {handle: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, told: true},
		"a proxy answers":       {handle: func(w http.ResponseWriter, _ *http.Request) { answer(w, 502, "text/html", "<p>bad gateway") }, told: true},
		"a proxy turns it away": {handle: func(w http.ResponseWriter, _ *http.Request) { answer(w, 403, "text/html", "<p>no") }},
		"the service says otherwise": {handle: func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 503, "application/problem+json", `{"hint":"h"}`)
		}},
		"the answer ends too early": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			answer(w, 200, "application/json", `{`)
		}, told: true},
	} {
		c := setup(t, tc.handle)
		if tc.url != "" {
			var err error
			if c, err = New(Config{URL: tc.url}); err != nil {
				t.Fatal(err)
			}
		}
		const says = "it is not known whether it was done; look before you ask again"
		if _, err := c.Post(t.Context(), "/dlq/x/discard", Why{"because"}, nil); err == nil || strings.Contains(err.Error(), says) != tc.told {
			t.Errorf("%s: %v, want it to say so: %t", name, err, tc.told)
		}
		if _, err := c.Get(t.Context(), "/dlq", nil, nil); err == nil || strings.Contains(err.Error(), says) {
			t.Errorf("%s: a read: %v", name, err)
		}
	}
}

func TestABulkReplayEndsInStatesThatAreKnownAlone(t *testing.T) {
	for state, want := range map[dlq.BulkState]bool{
		dlq.BulkRunning: false, dlq.BulkDone: true, dlq.BulkStopped: true, dlq.BulkCancelled: true, "paused": false, "": false,
	} {
		if got := (Bulk{State: state}).Ended(); got != want {
			t.Errorf("%q: ended %v, want %v", state, got, want)
		}
	}
	if (Bulk{State: dlq.BulkCancelled, Replaying: 1}).Ended() {
		t.Error("it ended while something of it is under way")
	}
}
