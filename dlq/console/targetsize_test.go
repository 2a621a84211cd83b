package console_test

import (
	"strings"
	"testing"

	"outboxrelay/dlq"
)

// What failed in a bulk replay is a list of links, of which a finger hits the one that it
// is meant for: 24 pixels from one to the next.
func TestLinksToWhatFailedStandApart(t *testing.T) {
	f := setup(t)
	f.lanes.follow(func(i *dlq.Item) (dlq.Round, error) { return fails(i), nil })
	f.reviewable(3)
	b := f.start(500)
	f.eventually("it ends", func() bool { return !f.bulks()[0].EndedAt.IsZero() })
	p := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	p.Until("what failed is listed", "document.querySelectorAll('.letters a').length > 1")
	if apart := eval[float64](p, "(([a, b]) => b.getBoundingClientRect().top - a.getBoundingClientRect().top)([...document.querySelectorAll('.letters a')])"); apart < 24 {
		t.Errorf("the links stand %v px apart", apart)
	}
	p.looksWell("what failed", themes(360)...)
	p.quiet()
}

// The parts of long errors are no landmarks: with the same name, one knows none from the other.
func TestLongErrorsAreNoLandmarks(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1, func(i *dlq.Item) {
		for n := range i.Errors {
			i.Errors[n].Message = strings.Repeat("the ledger is locked ", 100)
		}
	})
	_, page := f.person("dev-viewer").get(itemPath(i))
	if n := strings.Count(page, `role="region" aria-label="The whole text"`); n > 0 {
		t.Errorf("%d landmarks have the same name", n)
	}
	if !strings.Contains(page, `role="group" aria-label="The whole text"`) {
		t.Error("what the keyboard scrolls has no name")
	}
}
