package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/console"
)

// landed is where a form leads, and what it shows.
func (p *person) landed(path string) (*url.URL, string) {
	p.f.t.Helper()
	resp, err := p.client.Get(p.f.url + console.Prefix + path)
	p.f.must(err)
	at := resp.Request.URL
	status, text := p.read(resp, nil)
	if status != http.StatusOK {
		p.f.t.Errorf("%s: status %d", path, status)
	}
	return at, text
}

// link is how a page leads to a dead letter.
func link(i *dlq.Item) string { return `href="/console/dlq/` + url.PathEscape(i.ID) + `"` }

func TestEachFilterIsInTheAddress(t *testing.T) {
	f := setup(t)
	one := f.die("accOutbox", "WalletDeducted", "acc-1", 1, func(i *dlq.Item) {
		i.Reason, i.Errors, i.DeadAt, i.Consumer = contracts.PermanentFailure, nil, i.DeadAt.Add(-48*time.Hour), "notifications"
	})
	other := f.die("orgOutbox", "MemberJoined", "user-1", 1)
	p := f.person("dev-viewer")
	for name, value := range map[string]string{
		"tier": string(one.Tier), "state": string(one.State), "eventType": one.EventType, "outbox": one.Outbox, "lane": string(one.Lane),
		"reason": string(one.Reason), "aggregateId": one.AggregateID, "traceId": one.TraceID, "eventId": one.EventID, "group": one.Group, "consumer": one.Consumer,
		"to": time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339),
	} {
		t.Run(name, func(t *testing.T) {
			form := url.Values{"screen": {"/dlq"}}
			for _, empty := range []string{"tier", "state", "open", "eventType", "outbox", "lane", "reason", "aggregateId", "traceId", "eventId", "consumer", "from", "to"} {
				form.Set(empty, "")
			}
			form.Set(name, value)
			at, text := p.landed("/filter?" + form.Encode())
			if diff := cmp.Diff(url.Values{name: {value}}, at.Query()); diff != "" || at.Path != "/console/dlq" {
				t.Errorf("the form leads to %s (-want +got):\n%s", at, diff)
			}
			if !strings.Contains(text, link(one)) || strings.Contains(text, link(other)) {
				t.Errorf("the filter does not select what it says")
			}
			if !strings.Contains(text, `aria-label="Filters that are set"`) || !strings.Contains(text, `href="/console/dlq" aria-label="Without`) {
				t.Error("the filter cannot be taken away")
			}
			if !strings.Contains(text, `value="`+value+`"`) {
				t.Error("the form does not hold the filter")
			}
		})
	}
	if at, text := p.landed("/filter?screen=/dlq&from=2h"); at.Query().Get("from") == "2h" || !strings.Contains(text, link(other)) || strings.Contains(text, link(one)) {
		t.Errorf("two hours back from now lead to %s", at)
	}
	for _, long := range []string{"200000d", "999999d", "-999999d"} { // more than a duration holds
		if at, text := p.landed("/filter?screen=/dlq&from=" + long); at.Query().Get("from") != long || !strings.Contains(text, `id="fault-from"`) {
			t.Errorf("%s back from now lead to %s, and it is not refused", long, at)
		}
	}
	if at, _ := p.landed("/filter?screen=/groups&tier=SAFE_AUTO"); at.String() != f.url+"/console/groups?tier=SAFE_AUTO" {
		t.Errorf("the form of the groups leads to %s", at)
	}
	if at, _ := p.landed("/filter?screen=https://evil.example/"); at.String() != f.url+"/console/dlq" {
		t.Errorf("a strange screen leads to %s", at)
	}
}

func TestClosedOnesAreShownWhereAskedFor(t *testing.T) {
	f := setup(t)
	open := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	closed := f.die("accOutbox", "WalletDeducted", "acc-2", 1, func(i *dlq.Item) { i.State = contracts.DeadDiscarded })
	p := f.person("dev-operator")
	for path, want := range map[string][2]bool{
		"/dlq": {true, false}, "/dlq?open=any": {true, true}, "/dlq?open=false": {false, true}, "/dlq?state=discarded": {false, true}, "/dlq?open=true": {true, false},
	} {
		_, text := p.get(path)
		if got := [2]bool{strings.Contains(text, link(open)), strings.Contains(text, link(closed))}; got != want {
			t.Errorf("%s shows %v of an open and a closed one, want %v", path, got, want)
		}
	}
	if _, text := p.get("/dlq?open=false"); !strings.Contains(text, "closed dead letters cannot be replayed") {
		t.Error("it does not say why closed ones are in no bulk replay")
	}
}

func TestWrongFilterIsToldAtItsField(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	for _, screen := range []string{"/dlq", "/groups"} {
		p := f.person("dev-viewer")
		for query, field := range map[string]string{"tier=TOP": "tier", "lane=FAST": "lane", "from=yesterday": "from", "open=perhaps": "open", "state=dead": "state", "reason=none": "reason"} {
			_, text := p.get(screen + "?" + query)
			if !strings.Contains(text, `id="fault-`+field+`"`) || !strings.Contains(text, `aria-describedby="fault-`+field+`"`) {
				t.Errorf("%s?%s: the fault is not told at its field", screen, query)
			}
			if !strings.Contains(text, `<details class="filter sheet" id="filter" open>`) {
				t.Errorf("%s?%s: the form is closed", screen, query)
			}
		}
		for _, query := range []string{"state=replayed&open=true", "from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z"} {
			if _, text := p.get(screen + "?" + query); !strings.Contains(text, "the filter makes no sense") {
				t.Errorf("%s?%s: it is not told what is wrong", screen, query)
			}
		}
	}
}

func TestCommandListsTheSame(t *testing.T) {
	f := setup(t)
	p := f.person("dev-viewer")
	for query, want := range map[string]string{
		"":                               "outbox-relay dlq list<",
		"?open=any&aggregateId=it%27s+a": "outbox-relay dlq list --any &#39;--aggregate=it&#39;\\&#39;&#39;s a&#39;<",
		"?reason=ATTEMPTS_EXHAUSTED":     "outbox-relay dlq list --dead-reason=ATTEMPTS_EXHAUSTED<",
	} {
		if _, text := p.get("/dlq" + query); !strings.Contains(text, want) {
			t.Errorf("%q: the command is not beside it", query)
		}
	}
}
