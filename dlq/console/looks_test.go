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

// looks are the windows in which a screen is looked at.
var listLooks = []look{
	{as: "dev-operator", width: 390, height: 844},
	{as: "dev-operator", width: 390, height: 844, dark: true},
	{as: "dev-operator", width: 1920, height: 1080},
	{as: "dev-operator", width: 1920, height: 1080, dark: true},
}

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
	for _, l := range listLooks {
		name := fmt.Sprintf("%d-%t", l.width, l.dark)
		p := f.open(l, "/dlq")
		p.Until("times are the reader's", "!document.querySelector('.died time').textContent.includes('UTC')")
		for _, screen := range []struct{ name, path string }{
			{"list", "/dlq"},
			{"list-filtered", "/dlq?tier=REVIEW_REQUIRED&eventType=WalletDeducted&from=2026-01-01T00:00:00Z"},
			{"list-none", "/dlq?lane=BACKGROUND_LANE&aggregateId=a"},
			{"list-wrong", "/dlq?tier=TOP&from=soon"},
			{"list-lost", "/dlq?pageToken=x"},
			{"groups", "/groups"},
		} {
			p.goTo(screen.path)
			p.sideways()
			p.accessible(screen.name)
			p.picture(screen.name + "-" + name)
		}
		p.goTo("/dlq")
		p.Click("#filter summary")
		p.Click("#rows tr:nth-child(5) input[name=ids]")
		p.sideways()
		p.accessible("list with a selection")
		p.picture("list-selected-" + name)
		p.Click("[data-keys]")
		p.accessible("help on keys")
		p.picture("list-keys-" + name)
		p.quiet()
		p.close()
	}
}

func TestEmptyListLooksWell(t *testing.T) {
	f := setup(t)
	for _, l := range listLooks {
		p := f.open(l, "/dlq")
		p.sideways()
		p.accessible("empty list")
		p.picture(fmt.Sprintf("list-empty-%d-%t", l.width, l.dark))
		p.quiet()
		p.close()
	}
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
