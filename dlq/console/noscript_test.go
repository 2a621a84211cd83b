package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"outboxrelay/contracts"
)

// Everything can be read, and a dead letter replayed, by a browser without
// scripts: from the list by its links, to the form and what it sends.
func TestReplayWithoutScripts(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.person("dev-operator")
	_, list := p.get("/dlq")
	link := regexp.MustCompile(`href="/console(/dlq/[^"?]*)"`).FindStringSubmatch(list)
	if link == nil {
		t.Fatalf("no dead letter is linked: %s", plain(list))
	}
	_, page := p.get(html.UnescapeString(link[1]))
	form := regexp.MustCompile(`(?s)<form method="post" action="/console([^"]*/replay)".*?</form>`).FindStringSubmatch(page)
	if form == nil {
		t.Fatalf("there is no form to replay it: %s", plain(page))
	}
	values := url.Values{"reason": {"mended"}}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form[0], -1) {
		values.Set(field[1], html.UnescapeString(field[2]))
	}
	status, page := p.post(html.UnescapeString(form[1]), values)
	if status != http.StatusOK || !strings.Contains(plain(page), "Asked for") {
		t.Errorf("status %d: %s", status, plain(page))
	}
	f.eventually("it is replayed", func() bool { return f.item(i.ID).State == contracts.DeadReplayed })
	if _, page := p.get(itemPath(i)); !strings.Contains(plain(page), "delivered it to every target") {
		t.Errorf("its end is not told: %s", plain(page))
	}
	if status, page := p.post(html.UnescapeString(form[1]), values); status < http.StatusBadRequest || strings.Contains(plain(page), "Asked for") {
		t.Errorf("sent again: status %d", status)
	}
}

// A Chromium with scripts switched off shows what is there, all of it, and
// nothing that would need them.
func TestScreensWithoutScripts(t *testing.T) {
	f := setup(t)
	at := f.targets()
	p := f.open(look{as: "dev-security", scriptless: true}, "/")
	for name, path := range at.screens() {
		p.goTo(path)
		if text := p.text("main"); len(text) < 20 {
			t.Errorf("%s: the page shows %q", name, text)
		}
		if dead := eval[[]string](p, "[...document.querySelectorAll('button.copy, [data-scripted]')].filter(e => e.checkVisibility()).map(e => e.outerHTML)"); len(dead) > 0 {
			t.Errorf("%s: these do nothing: %v", name, dead)
		}
		p.sideways()
		p.quietBut("404", "400", "422")
	}
}
