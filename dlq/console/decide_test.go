package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// act opens the form of an action and writes a reason into it.
func (p *tab) act(name, reason string) {
	p.T.Helper()
	p.Click("#act-" + name + " > summary")
	p.Write("#reason-"+name, reason)
}

// send sends the form of an action.
func (p *tab) send(name string) {
	p.T.Helper()
	p.Click("#act-" + name + " button[type=submit]")
}

// unloaded marks the page, so that a test can tell whether it was loaded anew.
func (p *tab) unloaded() (check func()) {
	p.T.Helper()
	eval[bool](p, "window.stillHere = true")
	return func() {
		p.T.Helper()
		if !eval[bool](p, "window.stillHere === true") {
			p.T.Error("the page was loaded anew")
		}
	}
}

// waitsFor makes replays wait until the test lets them go on, and fail with a
// message unless that is empty.
func (f *fixture) waitsFor(failure string) (goOn func()) {
	gate := make(chan struct{})
	f.lanes.follow(func(i *dlq.Item) (dlq.Round, error) {
		<-gate
		if failure != "" {
			return dlq.Round{Missing: i.PendingTargets, Failed: []contracts.AttemptError{{At: time.Now(), Attempt: 1, Target: i.PendingTargets[0], Code: "Internal", Message: failure}}}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	var once bool
	goOn = func() {
		if !once {
			once = true
			close(gate)
		}
	}
	f.t.Cleanup(goOn)
	return goOn
}

func TestReplayByClicksTellsItsEnd(t *testing.T) {
	f := setup(t)
	goOn := f.waitsFor("")
	item := f.die("accOutbox", "WalletDeducted", "click-1", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(item))
	still := p.unloaded()
	p.act("replay", "the consumer was mended")
	p.picture("item-replay-form")
	p.accessible("the form of a replay")
	p.Run(chromedp.DoubleClick(chromedp.CSS("#act-replay button[type=submit]")))
	p.Shows("and is being replayed since")
	p.Shows("The replay that dev-operator asked for at ")
	p.picture("item-being-replayed")
	goOn()
	p.Shows("and a replay delivered it to every target")
	p.Shows("the consumer was mended")
	p.Until("nothing but a note is left to do", "!document.querySelector('#act-replay') && document.querySelector('#act-note')")
	p.picture("item-delivered")
	p.accessible("a delivered one")
	still()
	if n := f.decisions(item.ID, "replay"); n != 1 {
		t.Errorf("a double click asked for %d replays, want 1", n)
	}
	p.quiet()
}

func TestReplayThatFailsByClicks(t *testing.T) {
	f := setup(t)
	f.waitsFor("still broken")()
	item := f.die("accOutbox", "AccountCreated", "click-2", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(item))
	still := p.unloaded()
	p.act("replay", "try it now")
	p.send("replay")
	p.Shows("with Internal: still broken; 1 replay of it failed too, and is replayed by itself at")
	p.Shows("1 of 5 automatic ones, the last one failed")
	still()
	p.quiet()
}

func TestDiscardAndNoteByClicks(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "WalletDeducted", "click-3", 1)
	p := f.open(look{as: "dev-operator", width: 390, height: 844}, itemPath(item))
	still := p.unloaded()
	p.act("note", "asked the owner")
	p.send("note")
	p.Shows("Your note stands in its history and in the audit.")
	p.Until("the note is shown, its form empty and closed", `document.querySelector(".decisions").innerText.includes("asked the owner") && !document.querySelector("#act-note").open && document.querySelector("#reason-note").value === ""`)
	p.act("discard", "made anew by hand")
	p.send("discard")
	p.Shows("and was given up by dev-operator at")
	p.Shows("It is discarded already: a note can still be added.")
	p.sideways()
	still()
	if f.item(item.ID).State != contracts.DeadDiscarded || f.decisions(item.ID, "note") != 1 {
		t.Error("it was not carried out")
	}
	p.quiet()
}

// TestBlockedByClicks: one person authorizes, another replays, at two browsers that see each other.
func TestBlockedByClicks(t *testing.T) {
	f := setup(t, func(f *fixture) { f.catalog.Outbox("accOutbox").Route("PolicyChanged").TwoPersonRule = true })
	item := f.die("accOutbox", "PolicyChanged", "click-4", 1)
	first, second := f.open(look{as: "dev-security"}, itemPath(item)), f.open(look{as: "dev-security-2", dark: true}, itemPath(item))
	firstStill, secondStill := first.unloaded(), second.unloaded()
	second.Shows("Its replay was not authorized")
	second.accessible("blocked, dark")
	first.act("authorize", "checked with the owner")
	first.send("authorize")
	first.Shows("You authorized it, and PolicyChanged asks for two persons: another person replays it.")
	second.Shows("and waits for somebody to replay it, as dev-security has allowed")
	second.act("replay", "allowed by dev-security")
	second.send("replay")
	for _, p := range []*tab{first, second} {
		p.Shows("and a replay delivered it to every target")
		p.Shows("click-4 is frozen since")
	}
	if _, err := f.queue.Release(t.Context(), "click-4", dlq.Release{Actor: dlq.Actor{Name: "dev-security", Role: dlq.Security}, Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	first.Until("the freeze is gone", "!document.querySelector('#freeze')")
	firstStill()
	secondStill()
	first.quiet()
	second.quiet()
}

func TestTwoBrowsersAtOneItem(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "WalletDeducted", "click-5", 1)
	writer, other := f.open(look{as: "dev-operator"}, itemPath(item)), f.open(look{as: "dev-security"}, itemPath(item))
	still := writer.unloaded()
	writer.act("replay", "half a sent")
	other.act("note", "the consumer is broken still")
	other.send("note")
	writer.Shows("the consumer is broken still")
	if got := eval[string](writer, "document.querySelector('#reason-replay').value"); got != "half a sent" {
		t.Errorf("what was typed has become %q", got)
	}
	writer.Run(chromedp.SendKeys(chromedp.CSS("#reason-replay"), "ence"))
	other.act("discard", "made anew")
	other.send("discard")
	writer.Shows("and was given up by dev-security at")
	writer.Shows("You had written: half a sentence")
	writer.picture("item-kept")
	writer.accessible("what was written is kept")
	still()
	writer.quiet()
	other.quiet()
}

func TestStaleClickIsRefusedAndKept(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "WalletDeducted", "click-6", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(item))
	p.act("discard", "given up")
	// The click is of before the page could follow.
	eval[bool](p, `document.addEventListener("submit", (e) => { e.target.querySelector("[name=etag]").value = '"1"'; }, {capture: true, once: true}), true`)
	p.send("discard")
	p.Shows("was changed since you looked at it")
	if got := eval[string](p, "document.querySelector('#reason-discard').value"); got != "given up" {
		t.Errorf("what was typed has become %q", got)
	}
	p.send("discard")
	p.Shows("and was given up by dev-operator at")
	if f.decisions(item.ID, "discard") != 1 {
		t.Error("it was not discarded once")
	}
}

// A decision is about what was there when its form was opened, whatever the page has
// fetched since.
func TestDecisionOnWhatCameMeanwhileIsRefused(t *testing.T) {
	t.Parallel()
	for when, reason := range map[string]string{"half written": "given ", "open": ""} {
		t.Run(when, func(t *testing.T) {
			f := setup(t)
			item := f.die("accOutbox", "WalletDeducted", "click-8", 1)
			p := f.open(look{as: "dev-operator"}, itemPath(item))
			p.Click("#act-discard > summary")
			if reason != "" {
				p.Write("#reason-discard", reason)
				p.Click("#act-discard > summary") // closed again
			}
			f.noteBehind(item.ID)
			p.Shows("said behind its back")
			if reason != "" {
				p.Click("#act-discard > summary")
			}
			p.Write("#reason-discard", "up")
			p.send("discard")
			p.Shows("was changed since you looked at it")
			if n := f.decisions(item.ID, "discard"); n != 0 {
				t.Fatal("it was discarded by one who saw it before the note")
			}
			if got := eval[string](p, "document.querySelector('#reason-discard').value"); got != reason+"up" {
				t.Errorf("what was typed has become %q", got)
			}
			p.send("discard")
			p.Shows("and was given up by dev-operator at")
		})
	}
}

// TestUncoveredStaysInItsTab: through changes by others, until it is covered or loaded anew.
func TestUncoveredStaysInItsTab(t *testing.T) {
	f := setup(t)
	item := f.dieWithSecret("click-7")
	p := f.open(look{as: "dev-security"}, itemPath(item))
	other := f.open(look{as: "dev-operator"}, itemPath(item))
	still := p.unloaded()
	uncover := func() {
		p.act("uncover", "a report of the owner")
		p.Run(chromedp.DoubleClick(chromedp.CSS("#act-uncover button[type=submit]")))
		p.Shows("the-secret-role")
	}
	uncover()
	other.Shows("dev-security uncovered its payload")
	p.picture("item-uncovered")
	p.accessible("uncovered")
	f.decide(item, dlq.Note, "otto", dlq.Operator)
	p.Shows("because of otto")
	if !strings.Contains(p.text("#record"), "the-secret-role") {
		t.Error("somebody else's note covered it")
	}
	if at := eval[string](p, "location.href"); strings.Contains(at, "uncover") {
		t.Errorf("the address is %s", at)
	}
	p.Click("#cover")
	p.Until("it is covered", "!document.body.innerText.includes('the-secret-role') && document.querySelector('#act-uncover')")
	if strings.Contains(eval[string](p, "document.documentElement.outerHTML"), "the-secret-role") {
		t.Error("it is still part of the page")
	}
	still()
	uncover()
	p.goTo(itemPath(item))
	p.Shows("The payload is covered.")
	if strings.Contains(eval[string](p, "document.documentElement.outerHTML"), "the-secret-role") || strings.Contains(eval[string](other, "document.documentElement.outerHTML"), "the-secret-role") {
		t.Error("it is shown without being uncovered")
	}
	if n := f.decisions(item.ID, "uncover"); n != 2 {
		t.Errorf("%d looks are audited, want 2", n)
	}
	p.quiet()
}

func TestItemLooksAllRight(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "look-1", 3)
	items := map[string]*dlq.Item{
		"younger": f.die("accOutbox", "WalletDeducted", "look-1", 4), "blocked": f.die("accOutbox", "RoleChanged", "look-2", 7), "safe": f.die("accOutbox", "AccountCreated", "look-3", 1),
	}
	p := f.open(look{as: "dev-security"}, "/")
	for kind, item := range items {
		p.goTo(itemPath(item))
		p.Shows(fmt.Sprintf("%s of %s", item.EventType, item.AggregateID))
		p.looksWell("item, "+kind, append(themes(1024), looks...)...)
		p.quiet()
	}
}
