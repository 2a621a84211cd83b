package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"outboxrelay/dlq/console"
	"outboxrelay/dlq/console/consoletest"
)

func TestPagesAreProtected(t *testing.T) {
	f := setup(t)
	resp, err := f.person("dev-viewer").client.Get(f.url + console.Prefix + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("Content-Security-Policy is %q", policy)
	}
}

func TestIdentityIsPickedInModeDev(t *testing.T) {
	f := setup(t)
	p := f.person("")
	if _, page := p.get("/"); !strings.Contains(page, `<option value="dev-viewer" selected>`) {
		t.Error("who comes first is not dev-viewer")
	}
	if status, page := p.post("/identity", url.Values{"as": {"dev-operator"}, "back": {"/console/"}}); status != http.StatusOK || !strings.Contains(page, `<option value="dev-operator" selected>`) {
		t.Errorf("status %d, and the page does not know dev-operator", status)
	}
	if status, _ := p.post("/identity", url.Values{"as": {"root"}}); status != http.StatusNotFound {
		t.Errorf("status %d for an unknown identity", status)
	}
}

func TestPickLeadsNowhereElse(t *testing.T) {
	f := setup(t)
	p := f.person("")
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, back := range []string{"https://evil.example/", "//evil.example/", "/elsewhere", "/console/\\evil", ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/console/identity", strings.NewReader(url.Values{"as": {"dev-viewer"}, "back": {back}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := p.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); got != "/console/" {
			t.Errorf("%q leads to %q", back, got)
		}
	}
}

func TestForgedRequestIsRefused(t *testing.T) {
	f := setup(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/console/identity", strings.NewReader("as=dev-security"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	status, page := f.person("").read(http.DefaultClient.Do(r))
	if status != http.StatusForbidden || !strings.Contains(page, "another origin") {
		t.Errorf("status %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
}

// One who waited in vain for a decision does not wait for its page as well.
func TestFailedDecisionDoesNotLoadItsPage(t *testing.T) {
	f := setup(t)
	c, err := console.New(console.Config{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				t.Errorf("%s is asked for by one that gets no answer", r.URL.Path)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status":503,"detail":"Firestore did not answer within 15s"}`))
		}), Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Log: f.log(),
	})
	f.must(err)
	t.Cleanup(c.Close)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/console/dlq/some/discard", strings.NewReader(url.Values{"etag": {"*"}, "reason": {"half a sentence"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: consoletest.Cookie, Value: "dev-operator"})
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	for _, want := range []string{"Firestore did not answer within 15s", "You had written: half a sentence"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is not in %s", want, plain(w.Body.String()))
		}
	}
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Console-Fault") == "" {
		t.Errorf("status %d, Console-Fault %q", w.Code, w.Header().Get("Console-Fault"))
	}
}

// What is not there is not there on a second look either; what fails may be; and a form is
// not sent again by a link.
func TestFaultOffersWhatHelps(t *testing.T) {
	f := setup(t)
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "gone") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status":404,"detail":"there is no dead letter"}`))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":503,"detail":"Firestore cannot be reached now: Unavailable"}`))
	})
	c, err := console.New(console.Config{API: api, Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Log: f.log()})
	f.must(err)
	t.Cleanup(c.Close)
	for _, tt := range []struct {
		method, path, form string
		status             int
		offers             string
	}{
		{http.MethodGet, "/nothing", "", http.StatusNotFound, ""},
		{http.MethodGet, "/audit?actor=otto", "", http.StatusServiceUnavailable, `<a href="/console/audit?actor=otto">Try again</a> · `},
		{http.MethodPost, "/dlq/some/discard", "etag=*&back=%2Fconsole%2Fdlq%2Fsome", http.StatusServiceUnavailable, `<a href="/console/dlq/some">Look at the page again</a> · `},
		{http.MethodPost, "/dlq/gone/discard", "etag=*&back=%2Fconsole%2Fdlq%2Fgone%3Fx=1", http.StatusNotFound, ""},
		{http.MethodPost, "/dlq/gone/discard", "etag=*&back=%2Fconsole%2Fdlq", http.StatusNotFound, `<a href="/console/dlq">Look at the page again</a> · `},
		{http.MethodPost, "/dlq/some/discard", "etag=%a", http.StatusBadRequest, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, f.url+"/console"+tt.path, strings.NewReader(tt.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: consoletest.Cookie, Value: "dev-operator"})
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		_, links, _ := strings.Cut(w.Body.String(), `<p class="ways">`)
		links, _, _ = strings.Cut(links, "</p>")
		if want := tt.offers + `<a href="/console/">Overview</a>`; w.Code != tt.status || links != want {
			t.Errorf("%s %s: status %d offers %q, want %d and %q", tt.method, tt.path, w.Code, links, tt.status, want)
		}
	}
}

func TestUnknownPage(t *testing.T) {
	f := setup(t)
	if status, page := f.person("").get("/nothing"); status != http.StatusNotFound || !strings.Contains(page, "no such page") {
		t.Errorf("status %d", status)
	}
}
