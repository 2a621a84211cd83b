package console_test

import (
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"outboxrelay/dlq/console"
	"outboxrelay/dlq/console/consoletest"
)

// chromium is the browser of all tests; TestMain ends it.
var chromium consoletest.Browser

// look is how a page is shown.
type look struct {
	as            string // identity of mode dev; "": none picked
	width, height int64  // 0: 1280 by 900
	dark          bool
	scriptless    bool
}

// tab is one open page. What its console says is a fault, unless the test takes it.
type tab struct {
	*consoletest.Page
	f    *fixture
	mu   sync.Mutex
	said []string // errors of scripts, of the policy and of loading
}

// open shows a page below /console.
func (f *fixture) open(l look, path string) *tab {
	f.t.Helper()
	p := &tab{Page: chromium.Page(f.t), f: f}
	p.follow(chromedp.Console(p.Context()))
	sent := chromedp.Events(p.Context(), network.RequestWillBeSent)
	go func() { // ends with the page
		for e, err := range sent {
			if err == nil && !strings.HasPrefix(e.Request.URL, f.url) && !strings.HasPrefix(e.Request.URL, "data:") {
				p.note("a request leaves the service: " + e.Request.URL)
			}
		}
	}()
	p.theme(l.dark)
	consoletest.Call(p.Page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.scriptless})
	consoletest.Call(p.Page, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	if l.as != "" {
		p.As(l.as, f.url)
	}
	if l.width != 0 {
		p.Run(chromedp.EmulateViewport(l.width, l.height))
	}
	p.goTo(path)
	return p
}

// follow notes the errors that the page's console shows, until the page ends.
func (p *tab) follow(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	go func() {
		for m, err := range messages {
			if err == nil && (m.IsException() || m.Type == "error") {
				p.note(m.String())
			}
		}
	}()
}

func (p *tab) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, what)
}

// quiet fails when the page's console said anything.
func (p *tab) quiet() {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, what := range p.said {
		p.T.Errorf("the page says: %.500s", what)
	}
	p.said = nil
}

// goTo loads a page below /console.
func (p *tab) goTo(path string) {
	p.T.Helper()
	p.Run(chromedp.Navigate(p.f.url + console.Prefix + path))
}

// eval returns what an expression comes to; a promise is waited for.
func eval[T any](p *tab, expression string) T {
	p.T.Helper()
	return consoletest.Eval[T](p.Page, expression)
}

// text is what an element shows.
func (p *tab) text(selector string) string {
	p.T.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// picture keeps what the page looks like, where OUTBOX_RELAY_PICTURES names a
// directory.
func (p *tab) picture(name string) {
	p.T.Helper()
	dir := os.Getenv("OUTBOX_RELAY_PICTURES")
	if dir == "" {
		return
	}
	data := consoletest.Value(p.Page, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600); err != nil {
		p.T.Fatal(err)
	}
}

// sideways fails when the page is wider than the window: then one reads it by
// scrolling to and fro.
func (p *tab) sideways() {
	p.T.Helper()
	if over := eval[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		p.T.Errorf("%s is %d pixels wider than the window", eval[string](p, "`${location.pathname}, ${innerWidth} pixels wide,`"), over)
	}
}

func (p *tab) theme(dark bool) {
	p.T.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	consoletest.Call(p.Page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// turn shows a page in another window and theme. It is not loaded again: it follows, as it
// does when a tablet is turned, or night comes.
func (p *tab) turn(l look) {
	p.T.Helper()
	p.theme(l.dark)
	p.Run(chromedp.EmulateViewport(l.width, l.height))
	p.Until("the page follows", fmt.Sprintf("innerWidth === %d && matchMedia('(prefers-color-scheme: dark)').matches === %t", l.width, l.dark))
}

// looksWell fails where a page, in one of some windows and themes, is read by scrolling
// sideways, or is not accessible. It keeps a picture of each.
func (p *tab) looksWell(name string, looks ...look) {
	p.T.Helper()
	for _, l := range looks {
		p.turn(l)
		p.sideways()
		p.accessible(fmt.Sprintf("%s at %v", name, l))
		p.picture(fmt.Sprintf("%s %v", url.PathEscape(name), l))
	}
}

// accessible runs axe-core, whose source OUTBOX_RELAY_AXE names, and fails at
// each violation. Without it nothing is looked at.
func (p *tab) accessible(screen string) {
	p.T.Helper()
	path := os.Getenv("OUTBOX_RELAY_AXE")
	if path == "" {
		return
	}
	if !eval[bool](p, "'axe' in window") { // a page that was looked at has it
		source, err := os.ReadFile(path)
		if err != nil {
			p.T.Fatal(err)
		}
		eval[bool](p, string(source)+"; true")
	}
	type violation struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	found := eval[[]violation](p, "axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then(r => r.violations)")
	for _, v := range found {
		for _, n := range v.Nodes {
			p.T.Errorf("%s: axe: %s (%s): %.300s: %.300s", screen, v.ID, v.Help, n.HTML, n.Summary)
		}
	}
}
