package console_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

func TestPageFollowsByItself(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-viewer"}, "/")
	p.Hears()
	p.sideways()
	p.accessible("overview")
	p.quiet()
}

// ear is an open stream.
type ear struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
}

// listen opens a stream of topics.
func (f *fixture) listen(t *testing.T, since string, topics ...string) *ear {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/console/live?"+url.Values{"on": topics, "since": {since}}.Encode(), nil)
	f.must(err)
	resp, err := f.person("dev-viewer").client.Do(r)
	f.must(err)
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream answers %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return &ear{t, bufio.NewScanner(resp.Body), cancel}
}

// hears reads on to a line.
func (e *ear) hears(line string) {
	e.t.Helper()
	for e.lines.Scan() {
		if e.lines.Text() == line {
			return
		}
	}
	e.t.Fatalf("the stream ends (%v) without %q", e.lines.Err(), line)
}

// ends reads on to the end; an end that is not the server's own is a failure.
func (e *ear) ends() {
	e.t.Helper()
	for e.lines.Scan() {
	}
	if err := e.lines.Err(); err != nil {
		e.t.Errorf("the stream did not end by itself: %v", err)
	}
}

func TestStreamOutlivesTheServersDeadlines(t *testing.T) {
	f := setup(t, func(f *fixture) {
		f.web.Config.ReadTimeout, f.web.Config.WriteTimeout = time.Second, time.Second
	})
	f.listen(t, "", "audit").hears("event: beat")
}

func TestStreamTellsWhatChangedBeforeIt(t *testing.T) {
	f := setup(t)
	// A page of another process, and of long ago, has missed who knows what.
	for _, since := range []string{"", "another.7", "no position"} {
		e := f.listen(t, since, "dead_letter", "freeze")
		e.hears("event: hello")
		e.hears(`data: ["dead_letter","freeze"]`)
	}
}

func TestStreamTellsWhatItsPageFollows(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	e := f.listen(t, "", "dead_letter:"+i.ID)
	e.hears(`data: ["dead_letter:` + i.ID + `"]`)
	f.person("dev-operator").decide(i.ID, "notes")
	e.hears(`data: ["dead_letter:` + i.ID + `"]`)
}

// decide takes a decision over the admin API.
func (p *person) decide(id, what string) {
	p.f.t.Helper()
	r, err := http.NewRequestWithContext(p.f.t.Context(), http.MethodPost, p.f.url+"/admin/v1/dlq/"+url.PathEscape(id)+"/"+what, strings.NewReader(`{"reason":"a test"}`))
	p.f.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer dev-operator")
	if status, body := p.read(p.client.Do(r)); status >= http.StatusBadRequest {
		p.f.t.Fatalf("%s %s answers %d: %s", what, id, status, body)
	}
}

// expiring is an authenticator whose identities can be made to expire.
type expiring struct {
	auth.Authenticator
	over atomic.Bool
}

func (e *expiring) Authenticate(r *http.Request) (auth.Identity, error) {
	if e.over.Load() {
		return auth.Identity{}, &auth.Refusal{Kind: auth.Unauthenticated, Code: "expired", Detail: "the token has expired", Hint: "get a new one"}
	}
	return e.Authenticator.Authenticate(r)
}

func TestStreamEndsWithItsIdentity(t *testing.T) {
	var who *expiring
	f := setup(t, func(f *fixture) {
		who = &expiring{Authenticator: f.who}
		f.who = who
	})
	e := f.listen(t, "", "audit")
	e.hears("event: hello")
	who.over.Store(true)
	e.ends()
}

func TestStreamsEndWhenTheConsoleCloses(t *testing.T) {
	f := setup(t)
	e := f.listen(t, "", "audit", "clock")
	e.hears("event: hello")
	f.console.Close()
	e.ends()
	if status, _ := f.person("dev-viewer").get("/live?on=audit"); status != http.StatusServiceUnavailable {
		t.Errorf("a closed console opens a stream: status %d", status)
	}
}

func TestHeadOfStreamEnds(t *testing.T) {
	f := setup(t)
	resp, err := f.person("dev-viewer").client.Head(f.url + "/console/live?on=clock")
	f.must(err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || len(body) > 0 || err != nil {
		t.Errorf("status %d, body %q, error %v", resp.StatusCode, body, err)
	}
}

func TestStreamHasBounds(t *testing.T) {
	f := setup(t)
	if status, _ := f.person("dev-viewer").get("/live?" + url.Values{"on": make([]string, 9)}.Encode()); status != http.StatusBadRequest {
		t.Errorf("nine topics: status %d", status)
	}
}

// noteBehind adds a note to a dead letter, past the console and its server.
func (f *fixture) noteBehind(id string) {
	f.t.Helper()
	_, err := f.queue.Decide(f.t.Context(), id, dlq.Decide{Action: dlq.Note, Actor: dlq.Actor{Name: "somebody", Role: dlq.Operator}, Reason: "said behind its back"})
	f.must(err)
}
