package console_test

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestTracesNamedByDotsAreFound(t *testing.T) {
	f := setup(t)
	viewer := f.person("dev-viewer")
	for _, traceID := range []string{".", "..", "%2E"} {
		item := f.die("accOutbox", "RoleChanged", "dotted "+traceID, 1, func(i *dlq.Item) { i.TraceID = traceID })
		for _, path := range []string{tracePath("traceId", traceID), itemPath(item)} {
			if _, page := viewer.get(path); !strings.Contains(plain(page), "aggregate dotted "+traceID+" frozen") {
				t.Errorf("%s tells no timeline of trace %q: %.2500s", path, traceID, plain(page))
			}
		}
	}
}

func tracePath(name, value string) string { return "/trace?" + url.Values{name: {value}}.Encode() }

func TestTraceIsFoundByWhatOneHas(t *testing.T) {
	f := setup(t)
	viewer := f.person("dev-viewer")
	item := f.die("accOutbox", "RoleChanged", "find/1", 1)
	f.decide(item, dlq.Authorize, "sara", dlq.Security)
	other := f.die("accOutbox", "WalletDeducted", "find/1", 2)
	delivered := record(other)
	delivered["eventId"], delivered["traceId"], delivered["status"] = "event-only", "trace only", string(contracts.Delivered)
	_, err := f.store.Commit(t.Context(), []dlq.Write{{Collection: "wsOutbox", ID: "delivered", Op: dlq.OpCreate, Fields: delivered}})
	f.must(err)
	itemLink, traceLink := `href="/console`+itemPath(item)+`"`, "traceId="+url.QueryEscape(item.TraceID)
	for _, tt := range []struct {
		name, field, value string
		want               []string // in what is said
		links              []string
	}{
		{"nothing is asked for", "", "", []string{"Fill in one of the three"}, nil},
		{"trace", "traceId", item.TraceID, []string{"trace " + item.TraceID, "appended to accOutbox", "attempt 3 failed: Internal", "dead-lettered under SECURITY_BLOCK", "sara authorized its replay", "“because of sara”", "aggregate find/1 frozen", "find/1 is frozen since", "outbox-relay dlq trace"}, []string{itemLink}},
		{"event of one trace", "eventId", item.EventID, []string{"event " + item.EventID + " , of trace " + item.TraceID, "What happened", "sara authorized its replay"}, []string{itemLink}},
		{"event that never died", "eventId", "event-only", []string{"event event-only , of trace trace only", "appended to wsOutbox", "delivered"}, nil},
		{"aggregate", "aggregateId", "find/1", []string{"aggregate find/1", "Dead letters", "Records", "version 1", "version 2", "wsOutbox/delivered"}, []string{itemLink, traceLink, "traceId=trace+only"}},
		{"spaces around it", "aggregateId", "  find/1 ", []string{"wsOutbox/delivered"}, nil},
		{"trace that is not there", "traceId", "none", []string{"Nothing is shown of trace none: nothing is known of trace", "after the retention"}, nil},
		{"event that is not there", "eventId", "none", []string{"Nothing is shown of event none: no record and no dead letter of it is known, in any outbox"}, nil},
		{"aggregate that is not there", "aggregateId", "none", []string{"Nothing is shown of aggregate none:"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, page := viewer.get(tracePath(tt.field, tt.value))
			if status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			for _, want := range tt.want {
				if !strings.Contains(plain(page), want) {
					t.Errorf("%q is not in %.2500s", want, plain(page))
				}
			}
			for _, link := range tt.links {
				if !strings.Contains(html.UnescapeString(page), link) {
					t.Errorf("there is no link %s", link)
				}
			}
		})
	}
	if _, page := viewer.get("/trace?eventId=a&aggregateId=b"); !strings.Contains(plain(page), "more than one field is filled in") {
		t.Errorf("two fields: %.600s", plain(page))
	}
}

func TestTraceFollowsAndLooksAllRight(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "RoleChanged", "trace-look", 1)
	f.die("accOutbox", "WalletDeducted", "trace-look", 2)
	p := f.open(look{as: "dev-viewer"}, tracePath("traceId", item.TraceID))
	p.Shows("dead-lettered under SECURITY_BLOCK")
	f.decide(item, dlq.Authorize, "sara", dlq.Security)
	p.Shows("sara authorized its replay")
	p.quiet()
	for kind, path := range map[string]string{
		"trace": tracePath("traceId", item.TraceID), "aggregate": tracePath("aggregateId", "trace-look"), "none": tracePath("eventId", "none"), "empty": "/trace",
	} {
		p.goTo(path)
		p.Shows("Trace ID")
		p.looksWell("trace, "+kind, looks...)
		p.quiet()
	}
}

// On a phone the tables of a trace are read downwards, and break no name.
func TestTraceIsReadOnAPhone(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	p := f.open(look{as: "dev-viewer", width: 360, height: 800}, tracePath("traceId", i.TraceID))
	if over := eval[[]int](p, "[...document.querySelectorAll('.found')].map(e => e.scrollWidth - e.clientWidth)"); !slices.Equal(over, []int{0, 0}) {
		t.Errorf("the tables are wider than they are shown by %v pixels", over)
	}
	height := eval[float64](p, "(r => (r.selectNodeContents(document.querySelector('.found a')), r.getBoundingClientRect().height))(document.createRange())")
	if height == 0 || height > 36 {
		t.Errorf("the name of the event is %v px high, and a line is some 22", height)
	}
	p.looksWell("trace on a phone", themes(360)...)
	p.quiet()
}
