package console_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// enter writes audit entries of an actor, one after the other.
func (f *fixture) enter(actor string, n int) {
	f.t.Helper()
	for i := range n {
		f.must(f.queue.Record(f.t.Context(), &dlq.Entry{
			ID: fmt.Sprintf("%s-%04d", actor, i), Actor: actor, Role: dlq.Operator, Action: "note", Subject: dlq.SubjectLane, On: "CRITICAL_LANE", Reason: fmt.Sprintf("entry %d of %s", i, actor),
		}))
	}
}

func TestAuditIsFilteredByItsAddress(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "RoleChanged", "audit-1", 1)
	f.decide(item, dlq.Note, "otto", dlq.Operator)
	f.decide(item, dlq.Authorize, "sara", dlq.Security)
	_, err := f.queue.SetLane(t.Context(), contracts.BackgroundLane, true, dlq.Actor{Name: "otto", Role: dlq.Operator}, "too fast")
	f.must(err)
	viewer := f.person("dev-viewer")
	for _, tt := range []struct {
		query    string
		want     []string
		unwanted []string
	}{
		{"", []string{"otto operator note", "sara security authorize blocked → authorized", "otto operator pause running → paused lane BACKGROUND_LANE", "relay freeze", "because of sara", "RoleChanged of audit-1"}, nil},
		{"?actor=otto", []string{"because of otto", "too fast", "outbox-relay dlq audit --actor=otto"}, []string{"because of sara"}},
		{"?action=authorize", []string{"because of sara"}, []string{"because of otto", "too fast"}},
		{"?subject=lane", []string{"too fast"}, []string{"because of otto"}},
		{"?" + url.Values{"on": {item.ID}}.Encode(), []string{"because of sara", "because of otto"}, []string{"too fast"}},
		{"?" + url.Values{"traceId": {item.TraceID}}.Encode(), []string{"because of sara", "because of otto"}, []string{"too fast"}},
		{"?from=2h", []string{"because of sara", "--from=20"}, nil},
		{"?to=2001-01-01+10:00", []string{"No entry is like that."}, []string{"because of sara"}},
		{"?actor=nobody", []string{"No entry is like that."}, nil},
		{"?from=yesterday", []string{"query.from: expected a time", "What to do"}, []string{"because of sara"}},
		{"?subject=cheese", []string{"query.subject"}, []string{"because of sara"}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			status, page := viewer.get("/audit" + tt.query)
			if status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			for _, want := range tt.want {
				if !strings.Contains(plain(page), want) {
					t.Errorf("%q is not in %.2500s", want, plain(page))
				}
			}
			for _, unwanted := range tt.unwanted {
				if strings.Contains(plain(page), unwanted) {
					t.Errorf("%q is there", unwanted)
				}
			}
		})
	}
	_, page := viewer.get("/audit")
	for _, link := range []string{`href="/console` + itemPath(item) + `"`, `href="/console/freezes`, `href="/console/lanes"`, "/console/trace?traceId=" + url.QueryEscape(item.TraceID)} {
		if !strings.Contains(page, link) {
			t.Errorf("there is no link %s", link)
		}
	}
}

func TestAuditGoesBackByPages(t *testing.T) {
	f := setup(t)
	f.enter("paul", 60)
	viewer := f.person("dev-viewer")
	_, page := viewer.get("/audit?actor=paul")
	if !strings.Contains(page, "entry 59 of paul") || !strings.Contains(page, "entry 10 of paul") || strings.Contains(page, "entry 9 of paul") {
		t.Error("the first page is not the latest 50")
	}
	_, rest, _ := strings.Cut(page, `rel="next" href="/console`)
	next, _, _ := strings.Cut(rest, `"`)
	f.enter("late", 3)
	_, page = viewer.get(strings.ReplaceAll(next, "&amp;", "&"))
	if !strings.Contains(page, "entry 9 of paul") || strings.Contains(page, "entry 10 of paul") || !strings.Contains(page, "That is the beginning") || !strings.Contains(page, "Back to the latest") {
		t.Errorf("the second page is not the rest: %.800s", plain(page))
	}
}

// TestAuditFollowsWithoutMoving: new entries appear by themselves, unless somebody has scrolled to where they read.
func TestAuditFollowsWithoutMoving(t *testing.T) {
	f := setup(t)
	f.enter("paul", 40)
	p := f.open(look{as: "dev-viewer"}, "/audit")
	p.Shows("entry 39 of paul")
	f.enter("anna", 1)
	p.Shows("entry 0 of anna")
	p.Run(chromedp.ScrollIntoView(chromedp.CSS("#entry-paul-0005")))
	p.Until("it has scrolled", "scrollY > 300")
	where := `document.querySelector("#entry-paul-0005").getBoundingClientRect().top`
	before := eval[float64](p, where)
	f.enter("berta", 2)
	p.Until("it tells that there is more", `document.querySelector("#show-news").innerText.includes("new entr") && !document.querySelector("#news").hidden`)
	if after := eval[float64](p, where); math.Abs(after-before) > 2 || strings.Contains(p.text("#entries"), "of berta") {
		t.Errorf("what is read has moved from %v to %v", before, after)
	}
	p.picture("audit-news")
	p.accessible("audit with news")
	p.Click("#show-news")
	p.Shows("entry 1 of berta")
	p.Until("it shows the top", "scrollY < 50 && document.querySelector('#news').hidden")
	p.quiet()
}

func TestAuditLooksAllRight(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "RoleChanged", "audit-2", 1)
	f.decide(item, dlq.Note, "otto", dlq.Operator)
	f.decide(item, dlq.Authorize, "sara", dlq.Security)
	f.enter("paul", 3)
	p := f.open(look{as: "dev-viewer"}, "/")
	for kind, path := range map[string]string{"all": "/audit", "none": "/audit?actor=nobody", "wrong": "/audit?from=yesterday"} {
		p.goTo(path)
		p.Shows("About")
		p.looksWell("audit, "+kind, looks...)
		p.quiet()
	}
}

// What one types without a zone is of the zone in which the entries' times are shown.
func TestAuditTakesTimesOfTheReadersZone(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-viewer"}, "/audit")
	p.Shows("in your zone")
	p.Write("#from", "2026-03-01 11:00")
	p.Write("#to", "2h")
	p.Click(".audit-form button[type=submit]")
	f.eventually("the filter is in the address", func() bool { return addressOf(p).Query().Get("from") != "" })
	if q := addressOf(p).Query(); q.Get("from") != "2026-03-01T10:00:00.000Z" || q.Get("to") != "2h" {
		t.Errorf("eleven in Berlin became %q, and two hours ago %q", q.Get("from"), q.Get("to"))
	}
	if _, page := f.person("dev-viewer").get("/audit"); !strings.Contains(plain(page), "A time without a zone is UTC") {
		t.Error("one without scripts is not told of the zone")
	}
}
