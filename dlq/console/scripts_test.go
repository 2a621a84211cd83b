package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"outboxrelay/dlq"
)

// before puts something before the service: what it does not answer goes on. It is
// for a fixture that nobody has asked anything yet.
func (f *fixture) before(answered func(w http.ResponseWriter, r *http.Request) bool) {
	next := f.web.Config.Handler
	f.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answered(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

func isStream(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/live") }

// Refused streams are asked for ever more rarely, although the page goes on to
// fetch itself meanwhile.
func TestScriptsDoNotHammerAServiceThatRefusesStreams(t *testing.T) {
	f := setup(t)
	var mu sync.Mutex
	var asked []time.Time
	f.before(func(w http.ResponseWriter, r *http.Request) bool {
		if !isStream(r) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, time.Now())
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	f.noteBehind(i.ID)
	p.Shows("said behind its back")
	f.eventually("it is asked for again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) >= 3
	})
	mu.Lock()
	defer mu.Unlock()
	for n, least := range []time.Duration{1500 * time.Millisecond, 3500 * time.Millisecond} {
		if got := asked[n+1].Sub(asked[n]); got < least {
			t.Errorf("request %d for a stream comes %v after the one before, want at least %v", n+2, got, least)
		}
	}
}

// Changes by the dozen do not make a page fetch itself as often; the last of them
// is shown all the same.
func TestScriptsLeaveTimeBetweenTwoLooks(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-viewer"}, itemPath(i))
	eval[bool](p, `window.looks = [], document.addEventListener("live", () => looks.push(Date.now())), true`)
	last := 0
	f.eventually("three looks", func() bool {
		last++
		f.decide(i, dlq.Note, fmt.Sprintf("somebody (%d)", last), dlq.Operator)
		return eval[int](p, "looks.length") >= 3
	})
	p.Shows(fmt.Sprintf("because of somebody (%d)", last))
	if least := eval[int](p, "Math.min(looks[1] - looks[0], looks[2] - looks[1])"); least < 1500 {
		t.Errorf("two looks are %d ms apart, want about 2 s", least)
	}
	p.quiet()
}

// The focus is on the whole content after the skip link, and after a click on a
// text: the page follows all the same.
func TestScriptsFollowWhileTheContentHasTheFocus(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-viewer"}, itemPath(i))
	p.press(kb.Tab)
	p.press(kb.Enter)
	p.Until("the content has the focus", "document.activeElement.id === 'main'")
	f.noteBehind(i.ID)
	p.Shows("said behind its back")
	p.Until("it has it still", "document.activeElement.id === 'main'")
	p.tabTo("#record-text")
	f.decide(i, dlq.Discard, "otto", dlq.Operator)
	p.Shows("and was given up by otto at")
	p.Until("the region has the focus still", "document.activeElement.id === 'record-text'")
	p.quiet()
}

// A change by somebody else leaves the notice that is being read, its place, and
// what follows it.
func TestScriptsLeaveANoticeWithTheFocusWhereItIs(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.act("note", "asked the owner")
	p.send("note")
	p.Until("the notice has the focus", "document.activeElement.matches('.notice')")
	eval[bool](p, "window.heading = document.querySelector('h1'), window.notice = document.activeElement, true")
	for n := range 2 {
		who := fmt.Sprintf("somebody (%d)", n)
		f.decide(i, dlq.Note, who, dlq.Operator)
		p.Shows("because of " + who)
		if !eval[bool](p, "document.querySelector('#main').firstElementChild === notice && document.activeElement === notice && document.querySelectorAll('.notice').length === 1") {
			t.Error("the notice is not where it was, with the focus")
		}
		if !eval[bool](p, "heading.isConnected") {
			t.Error("what follows the notice was made anew")
		}
	}
	p.quiet()
}

// A notice stays while it has the focus, and else until it was there for a while.
func TestScriptsLeaveANoticeForAWhile(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	p.act("note", "asked the owner")
	p.send("note")
	p.Until("the notice has the focus", "document.activeElement.matches('.notice')")
	eval[bool](p, "window.later = 0, Date.now = ((now) => () => now() + later)(Date.now), true")
	for n, c := range []struct {
		when, script string
		want         int
	}{
		{"it is fresh", "document.activeElement.blur()", 1},
		{"it has the focus, however late it is", "later = 3_600_000, document.querySelector('.notice').focus()", 1},
		{"it was there for a while", "document.activeElement.blur()", 0},
	} {
		eval[bool](p, c.script+", true")
		who := fmt.Sprintf("somebody (%d)", n)
		f.decide(i, dlq.Note, who, dlq.Operator)
		p.Shows("because of " + who)
		if got := eval[int](p, "document.querySelectorAll('.notice').length"); got != c.want {
			t.Errorf("%s: %d notices, want %d", c.when, got, c.want)
		}
	}
	p.quiet()
}

// What became of a form is said until all is well, through every look that fails
// after it, and one that began before it and does not fail.
func TestScriptsKeepSayingWhatBecameOfAForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		want   string
	}{{http.StatusForbidden, "Nothing was done."}, {http.StatusBadGateway, "It is not known whether what you sent was done"}} {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			f := setup(t)
			var strange atomic.Bool
			var looks atomic.Int64
			begun, free := make(chan struct{}, 1), make(chan struct{})
			goOn := sync.OnceFunc(func() { close(free) })
			t.Cleanup(goOn)
			f.before(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("HX-Request") == "" {
					return false
				}
				if !strange.Load() {
					select {
					case begun <- struct{}{}: // the first look, which the stream asks for
					default:
					}
					<-free
					return false
				}
				if r.Method == http.MethodGet {
					looks.Add(1)
				}
				http.Error(w, "a proxy", tt.status)
				return true
			})
			i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
			p := f.open(look{as: "dev-operator"}, itemPath(i))
			p.act("note", "half a sentence")
			f.eventually("a look has begun", func() bool { return len(begun) == 1 })
			strange.Store(true)
			p.send("note")
			p.Shows(tt.want)
			goOn()
			f.eventually("two looks fail", func() bool { return looks.Load() >= 2 })
			p.Until("it is said still", fmt.Sprintf("!document.querySelector('form[data-sent]') && document.querySelector('#connection').textContent.includes(%q)", tt.want))
			strange.Store(false)
			p.Until("all is well", bannerHidden)
		})
	}
}

// A form that is barred while it is on its way stays until its answer, which then
// changes the page in place.
func TestScriptsKeepAFormUntilItsAnswer(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]string{"barred": "true", "gone": "document.querySelector('#act-replay').remove(), true"} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			answer := make(chan struct{})
			f.before(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					<-answer
				}
				return false
			})
			var once sync.Once
			free := func() { once.Do(func() { close(answer) }) }
			t.Cleanup(free)
			i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
			p := f.open(look{as: "dev-operator"}, itemPath(i))
			p.act("replay", "the consumer was mended")
			p.send("replay")
			p.Until("it is sent", "document.querySelector('#act-replay form[data-sent]')")
			f.decide(i, dlq.Discard, "otto", dlq.Operator)
			p.Shows("and was given up by otto at")
			if !eval[bool](p, "document.querySelector('#act-replay form[data-sent]')?.isConnected === true") {
				t.Error("the form went before its answer")
			}
			eval[bool](p, "window.content = document.querySelector('#main'), "+meanwhile)
			free()
			p.Until("the answer is shown", "document.activeElement.matches('.notice.wrong')")
			if !eval[bool](p, "content.isConnected && !document.querySelector('#act-replay')") {
				t.Error("the answer took the page's place")
			}
			if n := f.decisions(i.ID, "replay"); n != 0 {
				t.Errorf("%d replays were asked for, want 0", n)
			}
		})
	}
}

// A stream that is open and says nothing is replaced.
func TestScriptsReplaceASilentStream(t *testing.T) {
	f := setup(t)
	var streams atomic.Int64
	f.before(func(w http.ResponseWriter, r *http.Request) bool {
		if !isStream(r) || streams.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "event: hello\ndata: \n\n")
		f.must(http.NewResponseController(w).Flush())
		<-r.Context().Done()
		return true
	})
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-viewer"}, itemPath(i))
	f.eventually("the page has its stream", func() bool { return streams.Load() == 1 })
	eval[bool](p, "(now => { Date.now = () => now() + 20000; })(Date.now), true") // beats that did not come
	f.eventually("it asks for another", func() bool { return streams.Load() > 1 })
	p.Until("all is well", bannerHidden)
	f.noteBehind(i.ID)
	p.Shows("said behind its back")
}

// A browser has few connections to one service: a page that nobody sees has no stream,
// nor has one beside four others of its browser, which asks by itself until it may.
func TestScriptsLeaveConnectionsToOthers(t *testing.T) {
	f := setup(t)
	var opened, open atomic.Int64
	next := f.web.Config.Handler
	f.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStream(r) {
			opened.Add(1)
			open.Add(1)
			defer open.Add(-1)
		}
		next.ServeHTTP(w, r)
	})
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i))
	hears := func(n int64) {
		t.Helper()
		f.eventually(fmt.Sprintf("%d streams are open", n), func() bool { return open.Load() == n })
	}
	hears(1)
	eval[bool](p, "window.setTimeout = () => 0, true") // what is closed is closed at once
	p.hide()
	hears(0)
	p.goTo(itemPath(i))
	hears(1)
	p.hide()
	hears(0)
	eval[bool](p, "window.seats = [0, 1, 2, 3].map((n) => new Promise((got) => navigator.locks.request(`console stream ${n}`, () => new Promise(got)))), Promise.all(seats).then(() => true)")
	before := opened.Load()
	p.show()
	f.noteBehind(i.ID)
	p.Shows("said behind its back")
	if n := opened.Load() - before; n != 0 {
		t.Errorf("a fifth page opens %d streams", n)
	}
	eval[bool](p, "Promise.all(seats).then((all) => { all[2](); return true; })")
	hears(1)
	p.quiet()
}

// uncovered is the page of a dead letter whose payload was uncovered in it: the-secret-role.
func (f *fixture) uncovered() *tab {
	f.t.Helper()
	p := f.open(look{as: "dev-security"}, itemPath(f.dieWithSecret("acc-1")))
	p.act("uncover", "a report of the owner")
	p.send("uncover")
	p.Shows("the-secret-role")
	return p
}

// What was uncovered is gone from the page as soon as it is covered, whether the
// service answers or not.
func TestScriptsCoverAtOnce(t *testing.T) {
	f := setup(t)
	o := f.outage()
	p := f.uncovered()
	o.begin()
	p.Click("#cover")
	p.Until("it is covered", "document.querySelector('#record-text').textContent === '…'")
	if eval[bool](p, "document.documentElement.outerHTML.includes('the-secret-role')") {
		t.Error("it is still part of the page")
	}
}

// Ten minutes are ten minutes on the clock: a timer does not count while a machine sleeps.
func TestScriptsCoverAfterASleep(t *testing.T) {
	f := setup(t)
	p := f.uncovered()
	eval[bool](p, "(now => { Date.now = () => now() + 540000; })(Date.now), document.dispatchEvent(new Event('visibilitychange')), true")
	if !eval[bool](p, "document.querySelector('#record-text').textContent.includes('the-secret-role')") {
		t.Error("it is covered after nine minutes")
	}
	eval[bool](p, "(now => { Date.now = () => now() + 120000; })(Date.now), document.dispatchEvent(new Event('visibilitychange')), true")
	p.Until("it is covered", "!document.documentElement.outerHTML.includes('the-secret-role')")
}
