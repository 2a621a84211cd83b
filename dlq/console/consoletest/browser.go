// Package consoletest looks at the console in a Chromium. Only tests import it.
package consoletest

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"outboxrelay/deploy/local/thorough"
)

// Variable has the browser's tests run in a run of everything, too.
const Variable = "OUTBOX_RELAY_BROWSER"

// startWithin bounds a Chromium's start, which takes long beside other tests.
const startWithin = 2 * time.Minute

// Browser is a Chromium, which the first test that needs it starts. Its zero value
// is ready; its owner calls Close after the last page. Safe for concurrent use.
type Browser struct {
	once sync.Once
	ctx  context.Context // nil: none is installed, or none was needed
	end  context.CancelFunc
	err  error

	skipped atomic.Int64
}

// Need skips a test where no Chromium is installed, and in a run of everything that
// does not ask for browsers. It marks the test as one that CI gives a second try.
func (b *Browser) Need(t testing.TB) {
	t.Helper()
	t.Attr("needs", "browser")
	if !thorough.Named() && os.Getenv(Variable) == "" {
		b.skipped.Add(1)
		t.Skipf("it needs a browser: make test-console runs it, and %s=1", Variable)
	}
	b.once.Do(b.start)
	if b.err != nil {
		t.Fatalf("start Chromium: %v", b.err)
	}
	if b.ctx == nil {
		b.skipped.Add(1)
		t.Skip("no Chromium is installed: the console's browser tests are skipped")
	}
}

// Skipped is how many tests were.
func (b *Browser) Skipped() int64 { return b.skipped.Load() }

func (b *Browser) start() {
	path := installed()
	if path == "" {
		return
	}
	b.ctx, b.end = chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(startWithin),
	))
	b.err = chromedp.Do(b.ctx)
}

// installed finds a Chromium; "" for none. The headless shell has no windows of its own
// to draw, which takes more than half of a whole Chromium's time, and does not raise its
// priority over the tests beside it.
func installed() string {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Close ends the browser, where it was started.
func (b *Browser) Close() {
	if b.end != nil {
		b.end()
	}
}

// Page opens a page that shows nothing yet, of 1280 by 900 and in a profile of its
// own, until the test's end. It skips as Need does.
func (b *Browser) Page(t testing.TB) *Page {
	t.Helper()
	b.Need(t)
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	p := &Page{T: t, ctx: ctx}
	Call(p, network.Enable, network.EnableParams{})
	p.Run(chromedp.EmulateViewport(1280, 900))
	return p
}
