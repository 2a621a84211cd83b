package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// press presses keys, as a keyboard does.
func (p *tab) press(keys string) {
	p.T.Helper()
	p.Run(chromedp.KeyEvent(keys))
}

// tabTo moves the focus by the Tab key to an element, which has to show that it
// has it. It returns how many presses that took.
func (p *tab) tabTo(selector string) int {
	p.T.Helper()
	for n := range 200 {
		if eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			if !eval[bool](p, "(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))") {
				p.T.Errorf("%s does not show that it has the focus", selector)
			}
			return n
		}
		p.press(kb.Tab)
	}
	p.T.Fatalf("the Tab key does not lead to %s", selector)
	return 0
}

// A dead letter is found, replayed and seen to be delivered without a mouse.
func TestReplayByKeyboardAlone(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, "/")
	p.press(kb.Tab)
	if got := eval[string](p, "document.activeElement.textContent"); got != "Skip to the content" {
		t.Errorf("what the Tab key leads to first is %q", got)
	}
	p.tabTo("nav a[href='/console/dlq']")
	p.press(kb.Enter)
	p.Shows("WalletDeducted")
	p.tabTo(fmt.Sprintf("main a[href*='%s']", i.ID))
	p.press(kb.Enter)
	p.Shows("What may be done now")
	p.tabTo("#act-replay summary")
	p.press(kb.Enter)
	p.tabTo("#reason-replay")
	p.press("the topic takes it now")
	p.tabTo("#act-replay button[type=submit]")
	p.press(kb.Enter)
	p.Until("the focus is where it is told", "document.activeElement.matches('.notice')")
	p.Shows("replayed")
	f.eventually("it is replayed", func() bool { return f.item(i.ID).State == contracts.DeadReplayed })
	p.Until("the page tells the end", "document.querySelector('.tags').textContent.includes('replayed')")
	p.quiet()
}

// A bulk replay is started and cancelled without a mouse, and after each form the focus is
// where its answer stands.
func TestBulkByKeyboardAlone(t *testing.T) {
	f := setup(t)
	f.reviewable(12)
	open := f.gate()
	defer open()
	p := f.open(look{as: "dev-operator"}, "/replays/new"+granted)
	p.tabTo("#why")
	p.press("the topic takes them now")
	p.tabTo("#start button[type=submit]")
	p.press(kb.Enter)
	p.Shows("It was started")
	p.Until("the focus is where it is told", "document.activeElement.matches('.notice.well')")
	p.Until("the canary is under way", "document.body.innerText.includes('5 under way')")
	if n := p.tabTo("#act-cancel summary"); n > 8 {
		t.Errorf("the Tab key leads to it after %d presses", n)
	}
	p.press(kb.Enter)
	p.tabTo("#reason-cancel")
	p.press("the wrong ones")
	p.tabTo("#act-cancel button[type=submit]")
	p.press(kb.Enter)
	p.Shows("dev-operator cancelled it: the wrong ones")
	p.Until("the focus is where it is told", "document.activeElement.matches('.notice.well')")
	p.quiet()
}

// Where scripts are off the focus is at the answer of a form, too, done or refused.
func TestFocusIsAtTheAnswerWithoutScripts(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator", scriptless: true}, itemPath(i))
	send := func(act string) {
		p.Click("#act-" + act + " summary")
		p.Write("#reason-"+act, "looked at")
		p.Click("#act-" + act + " button[type=submit]")
	}
	send("note")
	p.Until("the focus is at the answer", "document.activeElement.matches('.notice.well')")
	p.Click("#act-discard summary")
	_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Note, Actor: dlq.Actor{Name: "other", Role: dlq.Operator}, Reason: "x"})
	f.must(err)
	p.Write("#reason-discard", "looked at")
	p.Click("#act-discard button[type=submit]")
	p.Until("the focus is at the refusal", "document.activeElement.matches('.notice.wrong')")
	p.quietBut("412")
}

// The answer takes the focus once: who writes beside it is left alone by each fresh page.
func TestAnAnswerTakesTheFocusOnce(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(i)+"?done=note")
	p.Until("the focus is at the answer", "document.activeElement.matches('.notice')")
	p.Hears()
	p.tabTo("#act-discard summary")
	p.press(kb.Enter)
	p.tabTo("#reason-discard")
	for n := range 3 {
		text := fmt.Sprintf("note %d of another", n)
		_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Note, Actor: dlq.Actor{Name: "other", Role: dlq.Operator}, Reason: text})
		f.must(err)
		p.Shows(text)
		if got := eval[string](p, "document.activeElement.id"); got != "reason-discard" {
			t.Fatalf("the focus went to %q", got)
		}
		p.press("x")
	}
	if !eval[bool](p, "document.querySelector('.notice') !== null") {
		t.Error("the answer is not there any more: the focus was not put to the test")
	}
	p.quiet()
}

// No screen holds the focus: the Tab key leads through all of it and out again.
func TestNoScreenTrapsTheKeyboard(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	at := f.targets()
	p := f.open(look{as: "dev-security"}, "/")
	for name, path := range at.screens() {
		p.goTo(path)
		left := false
		eval[bool](p, "document.body.dataset.seen = 0, true")
		for range 150 {
			p.press(kb.Tab)
			if eval[bool](p, "document.activeElement === document.body || document.activeElement.matches('.skip') && document.body.dataset.seen++ > 0") {
				left = true
				break
			}
		}
		if !left {
			t.Errorf("%s: the focus is at %s", name, eval[string](p, "document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
}
