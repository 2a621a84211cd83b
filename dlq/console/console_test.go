package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"outboxrelay/dlq/console"
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

func TestUnknownPage(t *testing.T) {
	f := setup(t)
	if status, page := f.person("").get("/nothing"); status != http.StatusNotFound || !strings.Contains(page, "no such page") {
		t.Errorf("status %d", status)
	}
}
