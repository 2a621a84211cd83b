package console_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// coveredFocus is what hides the middle of what has the focus; empty for nothing.
const coveredFocus = `(() => {
	const e = document.activeElement, r = e.getClientRects()[0];
	if (e === document.body || !r) return "";
	const over = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
	return over && (e.contains(over) || over.contains(e)) ? "" : (over?.outerHTML ?? "what ends the window").slice(0, 150);
})()`

// The bar of what is selected lies over the list; what the Tab key leads to is not below it.
func TestTheSelectionsBarHidesNoFocus(t *testing.T) {
	f := setup(t)
	f.many(12)
	for _, l := range []look{{as: "dev-operator", width: 360, height: 640}, {as: "dev-operator", width: 1280, height: 720}} {
		p := f.open(l, "/dlq")
		for _, selected := range []bool{false, true} { // the bar is higher where it counts
			eval[bool](p, "(document.querySelector('#rows tr:first-child input[name=ids]').focus(), true)")
			if selected {
				p.press(" ")
				p.Until("it is selected", "document.getElementById('count').textContent.includes('1 selected')")
			}
			for range 24 {
				p.press(kb.Tab)
				if over := eval[string](p, coveredFocus); over != "" {
					t.Errorf("at %v the focus is at %.150s, below %s", l, eval[string](p, "document.activeElement.outerHTML"), over)
				}
			}
		}
		p.close()
	}
}

// Where a window is low, as one that is zoomed into, the bar leaves the list its room.
func TestALowWindowIsNotFilledByTheSelectionsBar(t *testing.T) {
	f := setup(t)
	f.many(3)
	p := f.open(look{as: "dev-operator", width: 320, height: 256}, "/dlq")
	if got := eval[string](p, "getComputedStyle(document.querySelector('.picking')).position"); !strings.Contains(got, "static") {
		t.Errorf("the bar is %s", got)
	}
}

// A trouble that comes or goes leaves the focus at the one where it is: Enter would lead
// elsewhere than its reader meant.
func TestFocusStaysAtItsTrouble(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	f.status.laneNamed(contracts.BackgroundLane, func(l *admin.LaneStatus) { l.Overdue, l.Waiting = 3, 3 })
	p := f.open(look{as: "dev-operator"}, "/")
	p.Shows("waits for a review")
	p.tabTo("#troubles a[href*=awaiting_review]")
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.P99 = 3 * time.Second })
	f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Lease = "lapsed" })
	p.Shows("The lease of wsOutbox was not renewed")
	p.Shows("CRITICAL_LANE misses its SLA")
	if got := eval[string](p, "document.activeElement.outerHTML"); !strings.Contains(got, "awaiting_review") {
		t.Errorf("the focus went to %.200s", got)
	}
	p.quiet()
}

// Each trouble has an ID of its own, by which a page that is fetched again finds it.
func TestEachTroubleHasAnID(t *testing.T) {
	f := setup(t)
	f.spoil()
	page := f.overview(f.person("dev-viewer"), "aggregate is frozen")
	seen := make(map[string]bool)
	for _, m := range regexp.MustCompile(`<li class="sheet (?:wrong|doubt)"( id="[^" ]+")?`).FindAllStringSubmatch(page, -1) {
		if m[1] == "" || seen[m[1]] {
			t.Errorf("a trouble has the ID%q, and is to have one of its own", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) < 5 {
		t.Errorf("%d troubles have an ID", len(seen))
	}
}
