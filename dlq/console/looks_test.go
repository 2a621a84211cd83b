package console_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

func TestListLooksWellEverywhere(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.many(8)
	f.die("accOutbox", "RoleChanged", "acc-7", 1)
	f.die("orgOutbox", "MemberJoined", "user-1", 3)
	f.die("accOutbox", "WalletDeducted", "acc-8", 1, func(i *dlq.Item) {
		i.EventType, i.AggregateID = hostile, hostile
		i.Errors = []contracts.AttemptError{{At: i.DeadAt, Attempt: 1, Target: hostile, Code: "Unavailable", Message: hostile}}
		i.PendingTargets = []string{hostile}
	})
	for _, width := range []int64{390, 1920} { // it is loaded, and clicked on, in both
		p := f.open(look{as: "dev-operator", width: width, height: 1000}, "/dlq")
		p.Until("times are the reader's", "!document.querySelector('.died time').textContent.includes('UTC')")
		p.Click("#filter summary")
		p.Click("#rows tr:nth-child(5) input[name=ids]")
		p.looksWell("list with a selection", themes(width)...)
		p.Click("[data-keys]")
		p.looksWell("help on keys", themes(width)...)
		p.quiet()
		p.close()
	}
	p := f.open(look{as: "dev-operator"}, "/dlq")
	for _, screen := range []struct{ name, path string }{
		{"list", "/dlq"},
		{"list-filtered", "/dlq?tier=REVIEW_REQUIRED&eventType=WalletDeducted&from=2026-01-01T00:00:00Z"},
		{"list-none", "/dlq?lane=BACKGROUND_LANE&aggregateId=a"},
		{"list-wrong", "/dlq?tier=TOP&from=soon"},
		{"list-lost", "/dlq?pageToken=x"},
		{"groups", "/groups"},
	} {
		p.goTo(screen.path)
		p.looksWell(screen.name, looks...)
	}
	p.quiet()
}

// Whatever the width of the window, an event's and a target's name are read in one line.
func TestListBreaksNoName(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "acc-1", 1, func(i *dlq.Item) { i.PendingTargets = []string{"CLAIMS_HANDLER"} })
	for _, width := range []int64{390, 901, 960, 1181, 1280, 1501} {
		p := f.open(look{as: "dev-viewer", width: width, height: 900}, "/dlq")
		for _, name := range []string{".open", ".missing .clamp"} {
			height := eval[float64](p, fmt.Sprintf("(r => (r.selectNodeContents(document.querySelector('#rows %s')), r.getBoundingClientRect().height))(document.createRange())", name))
			if height == 0 || height > 36 {
				t.Errorf("at %d px %s is %v px high, and a line is some 22", width, name, height)
			}
		}
		p.close()
	}
}

func TestEmptyListLooksWell(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-operator"}, "/dlq")
	p.looksWell("empty list", looks...)
	p.quiet()
}

func TestListIsReadWithoutScripts(t *testing.T) {
	f := setup(t)
	f.many(55)
	p := f.open(look{as: "dev-operator", width: 390, height: 844, scriptless: true}, "/dlq")
	p.Click("#rows tr:nth-child(2) input[name=ids]")
	p.picture("list-scriptless")
	p.Click("#replaypicked")
	f.eventually("the bulk screen is asked for what is ticked", func() bool { return addressOf(p).Query().Has("ids") })
	p.goTo("/dlq")
	p.Click("a[rel=next]")
	f.eventually("the next page is shown", func() bool { return addressOf(p).Query().Has("pageToken") })
	p.goTo("/dlq")
	p.Click("#filter summary")
	p.Write("#filter-aggregateId", "acc-3")
	p.Click("#filterform button[type=submit]")
	f.eventually("the filter is in the address", func() bool { return addressOf(p).RawQuery == "aggregateId=acc-3" })
}

// addressOf is where a tab stands; empty while it is on its way.
func addressOf(p *tab) *url.URL {
	p.T.Helper()
	text, err := chromedp.Run(p.Context(), chromedp.Location())
	if err != nil {
		return &url.URL{}
	}
	at, err := url.Parse(text)
	p.f.must(err)
	return at
}
