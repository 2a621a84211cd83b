package console_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// screens are all screens with something on them, by name.
func (t *targets) screens() map[string]string {
	out := map[string]string{
		"overview": "/", "dead letters": "/dlq", "filtered": "/dlq?tier=REVIEW_REQUIRED&open=true", "nothing for this filter": "/dlq?eventType=None",
		"a wrong filter": "/dlq?tier=NONE", "groups": "/groups", "bulk replays": "/replays", "one bulk replay": "/replays/" + t.bulk,
		"a dry run": "/replays/new?eventType=WalletDeducted", "a dry run of nothing": "/replays/new?eventType=None", "freezes": "/freezes", "one freeze": "/freezes/acc-2",
		"trace search": "/trace", "a trace": "/trace?traceId=" + url.QueryEscape(t.letters[contracts.ReviewRequired].TraceID), "no such trace": "/trace?traceId=none",
		"lanes": "/lanes", "audit": "/audit", "no such page": "/none", "no such dead letter": "/dlq/none",
		"queues": "/queues", "a queue": "/queues/jobs", "failed jobs": "/queues/jobs?status=failed", "a wrong status": "/queues/jobs?status=none", "bell": "/bell",
		"a job that may be sent": jobPath(t.job), "an event": "/queues/notifications/items/" + url.PathEscape(t.event),
	}
	for tier, i := range t.letters {
		out["a dead letter of "+string(tier)] = itemPath(i)
	}
	return out
}

// looks are the windows and themes that the console is made for.
var looks = slices.Concat(themes(390), themes(1920))

// themes are the looks of windows of a width.
func themes(width int64) []look {
	return []look{{width: width, height: 1000}, {width: width, height: 1000, dark: true}}
}

func (l look) String() string {
	if l.dark {
		return fmt.Sprintf("%d dark", l.width)
	}
	return fmt.Sprintf("%d light", l.width)
}

// Each screen, in each window and theme: axe-core finds nothing, nothing is read
// by scrolling sideways, and the browser has nothing to say.
func TestScreens(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	at := f.targets()
	p := f.open(look{as: "dev-security"}, "/")
	for name, path := range at.screens() {
		p.goTo(path)
		eval[bool](p, "document.querySelectorAll('main details:not([name]), main details[name]:first-of-type').forEach(e => { e.open = true }), true")
		p.looksWell("screen "+name, looks...)
		p.quietBut("404", "400", "422")
	}
}

// The same with nothing in the queue.
func TestEmptyScreens(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	p := f.open(look{as: "dev-operator"}, "/")
	for _, path := range []string{"/", "/dlq", "/groups", "/replays", "/freezes", "/trace", "/lanes", "/queues", "/queues/jobs", "/bell", "/audit"} {
		p.goTo(path)
		p.looksWell("empty "+path, looks...)
		p.quiet()
	}
}

// Nobody is left with a dead button and no word why.
func TestBarredActsSayWhy(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	at := f.targets()
	for _, who := range []string{"dev-viewer", "dev-operator", "dev-security"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p := f.openFor(t, look{as: who}, "/")
			defer p.close()
			for name, path := range at.screens() {
				p.goTo(path)
				for _, dead := range eval[[]string](p, `[...document.querySelectorAll("main button:disabled, main button[aria-disabled=true]")].filter(b => {
					const why = (b.getAttribute("aria-describedby") ?? "").split(" ").map(id => document.getElementById(id)?.textContent.trim() ?? "").join("");
					return why.length < 10;
				}).map(b => b.outerHTML)`) {
					t.Errorf("%s: nothing says why not: %s", name, dead)
				}
				if who == "dev-viewer" {
					for _, live := range eval[[]string](p, `[...document.querySelectorAll("main form[method=post] button:not(:disabled)")].map(b => b.outerHTML)`) {
						t.Errorf("%s: a viewer can press %s", name, live)
					}
				}
			}
		})
	}
}

// openFor opens a page for a test within the fixture's.
func (f *fixture) openFor(t *testing.T, l look, path string) *tab {
	t.Helper()
	p := f.open(l, path)
	p.T = t
	return p
}

// close closes the page: many open ones would share a machine's few cores.
func (p *tab) close() {
	p.T.Helper()
	if err := chromedp.Cancel(p.Context()); err != nil {
		p.T.Logf("close the page: %v", err) // which says nothing of the console
	}
}

// quietBut is quiet where pages are refused on purpose: the browser tells of each
// with its status.
func (p *tab) quietBut(statuses ...string) {
	p.T.Helper()
	p.mu.Lock()
	p.said = slices.DeleteFunc(p.said, func(said string) bool {
		return slices.ContainsFunc(statuses, func(status string) bool { return strings.Contains(said, "status of "+status) })
	})
	p.mu.Unlock()
	p.quiet()
}
