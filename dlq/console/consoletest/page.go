package consoletest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"outboxrelay/dlq/console"
)

// Cookie says as whom of mode dev a browser comes.
const Cookie = "outbox-relay-as"

// patience is for one step, beside other tests: what is not there by then will not
// come.
const patience = 2 * time.Minute

// Page is one open page. What it cannot do, or does not show within two minutes,
// ends the test.
type Page struct {
	T   testing.TB // the test that it is for
	ctx context.Context
}

// Context is the page's, for what chromedp does with it.
func (p *Page) Context() context.Context { return p.ctx }

// As makes the page's person somebody of mode dev, such as "dev-viewer", for the
// service at a URL.
func (p *Page) As(identity, service string) {
	p.T.Helper()
	Call(p, network.SetCookie, network.SetCookieParams{
		Name: Cookie, Value: identity, URL: service + console.Prefix + "/", Path: console.Prefix,
	})
}

// bounded is for one step.
func (p *Page) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, patience)
}

// Call sends a command of the browser's protocol.
func Call[P, R any](p *Page, command cdp.Command[P, R], params P) {
	p.T.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.T.Fatal(err)
	}
}

// Run carries actions out, one after the other.
func (p *Page) Run(actions ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	ctx, cancel := p.bounded()
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.T.Fatal(err)
	}
}

// Value runs an action that returns something.
func Value[T any](p *Page, a chromedp.Action[T]) T {
	p.T.Helper()
	ctx, cancel := p.bounded()
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		p.T.Fatal(err)
	}
	return v
}

// Eval returns what an expression comes to; a promise is waited for.
func Eval[T any](p *Page, expression string) T {
	p.T.Helper()
	return Value(p, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Until waits until an expression is true. Where looks take long they are rare, so
// that they leave the time to the pages.
func (p *Page) Until(what, expression string) {
	p.T.Helper()
	ctx, cancel := p.bounded()
	defer cancel()
	var last error // a page on its way to another answers nothing
	for {
		began := time.Now()
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		switch {
		case err == nil && ok:
			return
		case ctx.Err() != nil:
			if last != nil {
				p.T.Log(last)
			}
			p.T.Logf("the page is %s", p.state())
			p.T.Fatalf("in vain: %s", what)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(min(max(10*time.Millisecond, 3*time.Since(began)), time.Second)):
		}
	}
}

// state is what a page that waits in vain shows: where it stands, what has the
// focus, and its text.
func (p *Page) state() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	state, err := chromedp.Run(ctx, chromedp.Evaluate[string](
		"[location.href, document.activeElement?.outerHTML.slice(0, 300), document.body?.innerText.slice(0, 3000)].join('\\n')"))
	if err != nil {
		return err.Error()
	}
	return state
}

// Shows waits until the page's text contains something.
func (p *Page) Shows(text string) {
	p.T.Helper()
	p.Until(fmt.Sprintf("the page shows %q", text), fmt.Sprintf("document.body?.innerText.includes(%q)", text))
}

// Hears waits until the page's stream of changes is open: it has fetched itself
// again.
func (p *Page) Hears() {
	p.T.Helper()
	p.Until("the page hears of changes", "performance.getEntriesByType('resource').some(r => r.initiatorType === 'xmlhttprequest')")
}

// Click clicks on an element, again where a morph moved it away under the mouse.
func (p *Page) Click(selector string) {
	p.T.Helper()
	for range 10 {
		Eval[bool](p, fmt.Sprintf(watchClick, selector))
		p.Steadily(chromedp.Click(chromedp.CSS(selector)))
		ctx, cancel := p.bounded()
		missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("window.clickMet === false"))
		cancel()
		if err != nil || !missed { // an error: the click led to another page
			return
		}
	}
	p.T.Fatalf("each click missed %s", selector)
}

// watchClick notes whether the next click meets an element, where the page's scripts run.
const watchClick = `(() => {
  const selector = %q;
  delete window.clickMet;
  addEventListener("watchclick", () => { window.clickMet = false; }, { once: true });
  dispatchEvent(new Event("watchclick"));
  addEventListener("click", (e) => { window.clickMet = Boolean(e.target.closest(selector)); }, { capture: true, once: true });
  return true;
})()`

// Write types into a field, as a person does.
func (p *Page) Write(selector, text string) {
	p.T.Helper()
	p.Steadily(chromedp.Focus(chromedp.CSS(selector)))
	p.Run(chromedp.KeyEvent(text))
}

// Steadily runs a step that a morph may meet: it moves an element, or lays it out
// anew, which the browser's protocol takes for one that is gone.
func (p *Page) Steadily(step chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	ctx, cancel := p.bounded()
	defer cancel()
	var err error
	for range 10 {
		if err = chromedp.Do(ctx, step); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		p.T.Fatal(err)
	}
}
