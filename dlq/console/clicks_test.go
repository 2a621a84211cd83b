package console_test

import (
	"strconv"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// From "something is wrong" to a replayed group of dead letters, by mouse: the
// overview says what waits, its link shows them, they are seen by error, the
// group's bulk replay shows what it would do, and is started. It prints what that took.
func TestWayFromTroubleToReplayedGroup(t *testing.T) {
	f := setup(t)
	f.night()
	p := f.open(look{as: "dev-operator"}, "/")
	began, clicks := time.Now(), 0
	click := func(selector string) {
		t.Helper()
		clicks++
		p.Until(selector+" is there", "document.querySelector("+strconv.Quote(selector)+")")
		p.Click(selector)
	}
	click("main a[href*='state=awaiting_review']") // Show them
	click("nav.views a[href*='/groups']")          // By error
	click("main tbody a[href*='/replays/new']")    // the largest group is on top
	p.Until("the dry run is there", "document.querySelector('#why')")
	p.Write("#why", "the migration is over")
	click("#start button[type=submit]")
	p.Until("it is done", "document.querySelector('#stage')?.textContent.includes('done')")
	if clicks > 4 {
		t.Errorf("it took %d clicks", clicks)
	}
	open, err := f.queue.List(t.Context(), dlq.Filter{EventType: "WalletDeducted", State: contracts.DeadAwaitingReview}, dlq.Page{})
	f.must(err)
	if n := len(open.Items); n != 0 {
		t.Errorf("%d of the group are still open", n)
	}
	t.Logf("from trouble to a replayed group: %d clicks, a reason, and %v, most of it the ramp of the replay", clicks, time.Since(began).Round(100*time.Millisecond))
}
