package console_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

// outage stands before a service and can take it away: connections break, and no
// request is answered.
type outage struct {
	f    *fixture
	next http.Handler
	on   atomic.Bool
}

// outage is for a fixture that nobody has asked anything yet.
func (f *fixture) outage() *outage {
	o := &outage{f: f, next: f.web.Config.Handler}
	f.web.Config.Handler = o
	return o
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.on.Load() {
		panic(http.ErrAbortHandler)
	}
	o.next.ServeHTTP(w, r)
}

func (o *outage) begin() {
	o.on.Store(true)
	o.f.web.CloseClientConnections()
}

func (o *outage) end() { o.on.Store(false) }

const (
	bannerShown  = "!document.querySelector('#connection').hidden"
	bannerHidden = "document.querySelector('#connection').hidden"
)

func TestPageSaysThatItIsCutOffAndGoesOn(t *testing.T) {
	f := setup(t)
	o := f.outage()
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.Hears()
	p.Click("#act-note summary")
	p.Write("#reason-note", "half a")
	o.begin()
	p.Shows("The service does not answer. What you see is of")
	p.accessible("cut off")
	p.picture("cut-off")
	p.Write("#reason-note", " sentence")
	f.noteBehind(i.ID) // while nobody is told
	o.end()
	p.Until("the page goes on", bannerHidden)
	p.Shows("said behind its back")
	p.Until("what was typed is still there", "document.querySelector('#reason-note').value === 'half a sentence'")
}

// hide and show do what another tab in front of the page does.
func (p *tab) hide() { p.T.Helper(); p.visible(false) }
func (p *tab) show() { p.T.Helper(); p.visible(true) }

func (p *tab) visible(yes bool) {
	p.T.Helper()
	eval[bool](p, fmt.Sprintf("Object.defineProperty(document, 'hidden', {get: () => %t, configurable: true}), document.dispatchEvent(new Event('visibilitychange'))", !yes))
}

// A page that is seen again while the service is away tells of when it was fetched, not
// of when it was seen.
func TestPageThatWasHiddenSaysOfWhenItIs(t *testing.T) {
	f := setup(t)
	o := f.outage()
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.Hears()
	p.hide()
	o.begin()
	const hour = 3_600_000
	before := eval[int64](p, fmt.Sprintf("{ const now = Date.now; Console.moment = String; Date.now = () => now() + %d; now(); }", hour))
	p.show()
	p.Until("it says that it is cut off", bannerShown)
	if at := eval[int64](p, "Number(document.querySelector('#connection').textContent.match(/is of (\\d+),/)[1])"); at > before+hour/2 {
		t.Errorf("what was fetched up to %d is said to be of %d", before, at)
	}
}

func TestFormWithoutAnswerIsKept(t *testing.T) {
	f := setup(t)
	o := f.outage()
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.Click("#act-note summary")
	p.Write("#reason-note", "a whole sentence")
	o.begin()
	p.Click("#act-note button[type=submit]")
	p.Shows("It is not known whether what you sent was done")
	p.Until("what was typed is still there", "document.querySelector('#reason-note').value === 'a whole sentence'")
	o.end()
	p.Until("the page goes on", bannerHidden)
	p.Click("#act-note button[type=submit]")
	p.Shows("Your note stands")
	if n := f.decisions(i.ID, "note"); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// What answers in the service's place, such as a proxy, does not take the page's.
func TestStrangeAnswerLeavesThePage(t *testing.T) {
	f := setup(t)
	var strange atomic.Bool
	next := f.web.Config.Handler
	f.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strange.Load() && r.Header.Get("HX-Request") != "" {
			http.Error(w, "<h1>502 Bad Gateway</h1>", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, r)
	})
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	strange.Store(true)
	f.noteBehind(i.ID)
	p.Until("the page says so", bannerShown+" && document.querySelector('#connection').textContent.includes('answers (502)')")
	p.Until("the page is still there", "document.querySelector('#act-note')")
	strange.Store(false)
	f.noteBehind(i.ID)
	p.Until("the page goes on", bannerHidden)
}

// A page that is shown while the console has no stream to give is fresh all the
// same, some seconds later.
func TestPageWithoutStreamAsksByItself(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	f.console.Close()
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	f.noteBehind(i.ID)
	p.Shows("said behind its back")
}
