package doctor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/doctor"
)

// pages are what a running service answers, by path. The lanes' page asks for the
// token "t" unless it is open.
type pages struct {
	readyz  string
	code    int
	metrics string
	lanes   string
	summary string
	open    bool
}

const oneLane = `{"items": [{"lane": "CRITICAL_LANE", "paused": false}]}`

func (p pages) serve(t *testing.T) *adminapi.Config {
	t.Helper()
	answer := func(w http.ResponseWriter, code int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if p.code == http.StatusFound {
			w.Header().Set("Location", "https://accounts.google.com/")
		}
		answer(w, p.code, p.readyz)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.metrics) })
	guard := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !p.open && r.Header.Get("Authorization") != "Bearer t" {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"detail": "the token is expired", "hint": "make a new one"}`)
				return
			}
			answer(w, http.StatusOK, body)
		}
	}
	mux.HandleFunc("GET /admin/v1/lanes", guard(p.lanes))
	mux.HandleFunc("GET /admin/v1/dlq/summary", guard(p.summary))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &adminapi.Config{URL: server.URL, Token: adminapi.StaticToken("t")}
}

// healthy is a service that nothing is wrong with.
func healthy(c *clinic) pages {
	var outboxes []string
	for _, col := range c.needs.Collections {
		if col.Outbox {
			outboxes = append(outboxes, fmt.Sprintf(`{"outbox": %q, "shards": 1, "owner": "a", "lease": "held", "here": true, "healthy": true, "listeners": [{"listener": "strays", "state": "alive"}]}`, col.Name))
		}
	}
	return pages{
		code:    http.StatusOK,
		readyz:  `{"ready": true, "lanes": [{"lane": "CRITICAL_LANE"}], "breakers": [{"target": "FUNNEL", "state": "closed"}], "outboxes": [` + strings.Join(outboxes, ",") + `]}`,
		metrics: "relay_build_info{commit=\"abc\",goversion=\"go1.26\",version=\"v1.2.3\"} 1\n",
		lanes:   oneLane,
		summary: `{"tiers": [{"tier": "SAFE_AUTO", "open": 3}, {"tier": "SECURITY_BLOCK", "open": 0}]}`,
	}
}

func TestService(t *testing.T) {
	replace := func(old, with string) func(*pages) {
		return func(p *pages) {
			changed := *p
			changed.readyz, changed.lanes = strings.Replace(p.readyz, old, with, 1), strings.Replace(p.lanes, old, with, 1)
			if changed == *p {
				t.Errorf("%q is in no page", old)
			}
			*p = changed
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*pages)
		want   []string
		says   string // of the first
	}{
		{"nothing wrong", func(*pages) {}, nil, ""},
		{"not ready", func(p *pages) {
			p.code = http.StatusServiceUnavailable
			p.readyz = strings.Replace(p.readyz, `"ready": true`, `"ready": false, "reason": "no listener is alive"`, 1)
		}, []string{"service.ready fail"}, "no listener is alive"},
		{"a page of somebody else", func(p *pages) { p.readyz = "<html>" }, []string{"service.ready fail"}, "not the relay's own page"},
		{"a login page", func(p *pages) { p.readyz, p.code = "", http.StatusFound }, []string{"service.ready fail"}, "302 Found"},
		{"an outbox of nobody", replace(`"owner": "a"`, `"owner": ""`), []string{"service.outboxes warn tagOutbox"}, "nobody relays it"},
		{"a listener that is not alive", replace(`"state": "alive"`, `"state": "rebuilding", "lastReason": "silence"`), []string{"service.outboxes warn tagOutbox"}, "strays is being rebuilt (silence)"},
		{"another catalog", replace("tagOutbox", "oldOutbox"), []string{"service.outboxes fail tagOutbox"}, "does not relay this outbox"},
		{"an open breaker", replace(`"state": "closed"`, `"state": "open", "reason": "NotFound"`), []string{"service.targets warn FUNNEL"}, "open (NotFound)"},
		{"another version", func(p *pages) { p.metrics = strings.Replace(p.metrics, "v1.2.3", "v1.2.2", 1) }, []string{"service.version warn"}, "v1.2.2 abc"},
		{"open to everybody", func(p *pages) { p.open = true }, []string{"service.refuses fail"}, "without a token"},
		{"a paused lane", replace(`"paused": false`, `"paused": true, "pausedBy": "alice@example.com", "pauseReason": "a move"`), []string{"service.lanes warn CRITICAL_LANE"}, "alice@example.com: a move"},
		{"what waits for a person", func(p *pages) {
			p.summary = `{"tiers": [{"tier": "SECURITY_BLOCK", "open": 2, "oldest": "2026-01-02T03:04:05Z"}]}`
		}, []string{"service.queue warn SECURITY_BLOCK"}, "2 dead letters wait for a person, the oldest since 2026-01-02T03:04:05Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := complete(t)
			p := healthy(c)
			tc.change(&p)
			c.Service, c.Version, c.Commit = p.serve(t), "v1.2.3", "abc"
			r := c.examine()
			expect(t, r, append(slices.Clone(tc.want), "leases fail")...) // it runs on no cloud
			if len(tc.want) == 0 {
				if said := r.Of("service.targets")[0].Detail; !strings.Contains(said, "of the instance that answers") {
					t.Errorf("service.targets says %q: another instance may have a target out", said)
				}
				return
			}
			check, _, _ := strings.Cut(tc.want[0], " ")
			if said := r.Of(check)[0].Detail; !strings.Contains(said, tc.says) {
				t.Errorf("%s says %q, want %q", check, said, tc.says)
			}
		})
	}
}

func TestLanesAreNotJudgedByWhatIsNotKnown(t *testing.T) {
	c := complete(t)
	p := healthy(c)
	p.lanes = strings.Replace(p.lanes, "{", `{"warning": "Firestore cannot be reached: who paused what is not known", `, 1)
	c.Service, c.Version, c.Commit = p.serve(t), "v1.2.3", "abc"
	f := only(t, c.examine(), "service.lanes", "")
	if f.Result != doctor.Skip || !strings.Contains(f.Detail, "who paused what is not known") {
		t.Errorf("%+v", f)
	}
}

func TestServiceTokens(t *testing.T) {
	c := complete(t)
	c.Service, c.Version, c.Commit = healthy(c).serve(t), "v1.2.3", "abc"
	c.Service.Token = adminapi.StaticToken("expired-secret")
	r := c.examine()
	expect(t, r, "leases fail", "service.role fail")
	if f := only(t, r, "service.role", ""); f.Detail != "the token is expired" || f.Hint != "make a new one" {
		t.Errorf("%+v", f)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || strings.Contains(text.String(), "expired-secret") {
		t.Errorf("%v, the report tells the token:\n%s", err, text.String())
	}

	c.Service.Token = nil
	r = c.examine()
	expect(t, r, "leases fail")
	if f := only(t, r, "service.role", ""); f.Result != doctor.Skip {
		t.Errorf("%+v", f)
	}

	c.Service = &adminapi.Config{URL: "relay.example.com"}
	expect(t, c.examine(), "leases fail", "service fail")
}
