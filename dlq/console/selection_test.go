package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/dlq"
)

// ticked is how many rows are selected.
const ticked = "document.querySelectorAll('#rows input[name=ids]:checked').length"

func TestSelectionByMouse(t *testing.T) {
	f := setup(t)
	f.many(6)
	f.die("accOutbox", "RoleChanged", "acc-x", 1)
	p := f.open(look{as: "dev-operator"}, "/dlq")
	p.Until("nothing is selected", "document.getElementById('replaypicked').disabled")
	row := func(n int) string { return fmt.Sprintf("#rows tr:nth-child(%d) input[name=ids]", n) }
	p.Click(row(2))
	p.Shows("1 selected")
	eval[bool](p, fmt.Sprintf("document.querySelector(%q).dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, shiftKey: true}))", row(5)))
	p.Until("a range is selected", ticked+" === 4")
	p.Click("#all")
	p.Until("all are, but the one of SECURITY_BLOCK", ticked+" === 6")
	p.Shows("Replay the 6 selected")
	p.Click("#unpick")
	p.Until("none is", ticked+" === 0")
	p.Click(row(3))
	p.Click(row(4))
	p.Click("#replaypicked")
	p.Until("the bulk screen has the two", "location.pathname === '/console/replays/new' && new URL(location).searchParams.getAll('ids').length === 2")
}

func TestSelectionByKeys(t *testing.T) {
	f := setup(t)
	items := f.many(5)
	p := f.open(look{as: "dev-operator"}, "/dlq")
	press := func(keys string) {
		t.Helper()
		for _, k := range keys {
			p.Run(chromedp.KeyEvent(string(k)))
		}
	}
	at := func(i *dlq.Item) string {
		return fmt.Sprintf("decodeURIComponent(document.activeElement.pathname) === '/console/dlq/%s'", i.ID)
	}
	press("j")
	p.Until("the first has the focus", at(items[4]))
	press("jjk")
	p.Until("the second has the focus", at(items[3]))
	press("x")
	p.Shows("1 selected")
	press("jjX")
	p.Until("a range is selected", ticked+" === 3")
	p.Until("who hears the page is told", "document.getElementById('said').textContent === '3 selected'")
	press("a")
	p.Until("all are selected", ticked+" === 5")
	press("a")
	p.Until("none is selected", ticked+" === 0")
	press("?")
	p.Until("the help is open", "document.getElementById('keys').open")
	press("x")
	p.Until("keys do nothing below it", ticked+" === 0")
	eval[bool](p, "document.getElementById('keys').close(); true")
	press("/")
	p.Until("the filter has the focus", "document.activeElement.id === 'filter-eventType' && document.getElementById('filter').open")
	p.Write("#filter-eventType", "jx")
	p.Until("what is typed is typed", "document.getElementById('filter-eventType').value.endsWith('jx') && "+ticked+" === 0")
	p.quiet()
}

func TestSelectionSurvivesALiveChange(t *testing.T) {
	f := setup(t)
	items := f.many(4)
	p := f.open(look{as: "dev-operator"}, "/dlq")
	p.Click("#rows tr:nth-child(1) input[name=ids]")
	p.Click("#rows tr:nth-child(2) input[name=ids]")
	p.Shows("Replay the 2 selected")
	// A button that changes its size between a fresh page and its dressing is clicked in vain.
	eval[bool](p, `{
		window.seen = new Set();
		const picking = document.querySelector(".picking");
		const look = () => seen.add(document.getElementById("replaypicked").textContent);
		new MutationObserver(look).observe(picking, {subtree: true, childList: true, characterData: true, attributes: true});
		true;
	}`)
	f.die("accOutbox", "WalletDeducted", "new", 1)
	p.Shows("1 dead letter arrived since this page was loaded")
	if seen := eval[string](p, "[...seen].join()"); seen != "Replay the 2 selected" {
		t.Errorf("the button said %q while the page was fetched again", seen)
	}
	p.Until("the rows stand still", "document.querySelectorAll('#rows tr.letter').length === 4")
	p.Until("the two are selected", ticked+" === 2")
	decide(f, items[3], dlq.Discard)
	p.Until("what was discarded says so", "document.querySelector('#rows tr.letter [data-state]').dataset.state === 'discarded'")
	p.Until("and is not selected any more", ticked+" === 1 && document.querySelector('#rows tr.letter input').disabled")
	p.Shows("1 selected")
	p.Click("#arrived a")
	p.Until("the one that came is shown", "document.querySelectorAll('#rows tr.letter').length === 4 && document.body.innerText.includes('new')")
	p.quiet()
}

func decide(f *fixture, i *dlq.Item, a dlq.Action) {
	f.t.Helper()
	_, err := f.queue.Decide(f.t.Context(), i.ID, dlq.Decide{Action: a, Actor: dlq.Actor{Name: "somebody", Role: dlq.Operator}, Reason: "because"})
	f.must(err)
}
