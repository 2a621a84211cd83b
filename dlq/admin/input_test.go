package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

func TestStrictQueries(t *testing.T) {
	tests := []struct {
		name, target string
		status       int
		says         string
	}{
		{"unknown", "/dlq?teir=SAFE_AUTO", 422, `"query.teir","message":"unknown query parameter"`},
		{"all unknown ones", "/dlq?a=1&b=2", 422, "query.a: unknown query parameter; query.b: unknown"},
		{"other case", "/dlq?Tier=SAFE_AUTO", 422, "query.Tier"},
		{"where there are none", "/lanes?lane=x", 422, "there are no query parameters here"},
		{"twice", "/dlq?tier=SAFE_AUTO&tier=SAFE_AUTO", 422, "stands more than once"},
		{"empty", "/dlq?tier=", 422, "is empty: leave it out"},
		{"no value", "/dlq?open", 422, "is empty"},
		{"no tier", "/dlq?tier=safe_auto", 422, "query.tier"},
		{"no state", "/dlq?state=dead", 422, "query.state"},
		{"no lane", "/dlq?lane=FAST", 422, "query.lane"},
		{"no reason", "/dlq?reason=BAD_LUCK", 422, "query.reason"},
		{"no flag", "/dlq?open=yes", 422, "query.open"},
		{"no time", "/dlq?from=yesterday", 422, "RFC 3339"},
		{"the zero time", "/dlq?to=0001-01-01T00:00:00Z", 422, "query.to"},
		{"the zero time of groups", "/dlq/groups?from=0001-01-01T00:00:00Z", 422, "query.from"},
		{"the zero time of a count", "/dlq/count?to=0001-01-01T00:00:00Z", 422, "query.to"},
		{"the zero time of the audit", "/audit?to=0001-01-01T00:00:00Z", 422, "query.to"},
		{"no number", "/dlq?limit=many", 422, "query.limit"},
		{"too few", "/dlq?limit=0", 422, "query.limit"},
		{"too many", "/dlq?limit=201", 422, "query.limit"},
		{"too long", "/dlq?eventId=" + strings.Repeat("x", 1501), 422, "query.eventId"},
		{"no UTF-8", "/dlq?eventId=%ff", 422, "not text in UTF-8"},
		{"cannot be read", "/dlq?eventId=%zz", 400, "cannot be read"},
		{"semicolons", "/dlq?eventId=a;tier=b", 400, "cannot be read"},
		{"endless URL", "/dlq?eventId=" + strings.Repeat("x", 9000), 414, "8192"},
		{"on a change", "/dlq/x/replay?force=true", 405, "not allowed"},
	}
	f := setup(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.pass(time.Second)
			send(t, f.handler, request(t, "dev-viewer", http.MethodGet, tt.target, "")).refused(tt.status, tt.says)
		})
	}
	if calls := f.queue.asked(); len(calls) > 0 {
		t.Errorf("the queue was asked %v", calls)
	}
}

func TestNoTimeIsToldOnce(t *testing.T) {
	f := setup(t)
	for _, path := range []string{"/dlq", "/dlq/count", "/audit"} {
		f.pass(time.Second)
		p := read[admin.Problem](f.do("dev-viewer", http.MethodGet, path+"?from=yesterday", ""), http.StatusUnprocessableEntity)
		if want := "query.from: expected a time in RFC 3339, as 2026-03-01T10:00:00Z"; p.Detail != want || len(p.Errors) != 1 {
			t.Errorf("%s: got %q and %d errors, want %q alone", path, p.Detail, len(p.Errors), want)
		}
	}
}

func TestFiltersReachTheQueue(t *testing.T) {
	f := setup(t)
	a := f.do("dev-viewer", http.MethodGet, "/dlq?eventId=e&eventType=T&traceId=t%2F1&aggregateId=a+b&tier=SAFE_AUTO&state=scheduled&outbox=o"+
		"&lane=CRITICAL_LANE&reason=PERMANENT_FAILURE&group=g&consumer=c&open=true&from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00%2B02:00&limit=7&pageToken=p", "")
	list := read[admin.DeadLetterList](a, http.StatusOK)
	if len(list.Items) != 1 || list.NextPageToken != "more" {
		t.Errorf("got %+v", list)
	}
	got := fmt.Sprintf("%+v %t %v", f.queue.page, *f.queue.filter.Open, f.queue.filter.To.UTC())
	if want := "{Limit:7 Token:p} true 2026-03-01 22:00:00 +0000 UTC"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fl := f.queue.filter
	want := dlq.Filter{
		EventID: "e", EventType: "T", TraceID: "t/1", AggregateID: "a b", Tier: "SAFE_AUTO", State: "scheduled", Outbox: "o", Lane: "CRITICAL_LANE",
		Reason: "PERMANENT_FAILURE", Group: "g", Consumer: "c", Open: fl.Open, From: fl.From, To: fl.To,
	}
	if fl != want {
		t.Errorf("got %+v, want %+v", fl, want)
	}
	f.do("dev-viewer", http.MethodGet, "/dlq", "")
	if f.queue.filter != (dlq.Filter{}) || f.queue.page != (dlq.Page{Limit: dlq.DefaultPage}) {
		t.Errorf("without a query got %+v %+v", f.queue.filter, f.queue.page)
	}
}

// A client that turns pages in a loop begins with no token, and may well send that.
func TestAnEmptyPageTokenIsTheFirstPage(t *testing.T) {
	f := setup(t)
	for _, path := range []string{"/dlq", "/audit", "/replays"} {
		f.pass(time.Second)
		if got := f.do("dev-operator", http.MethodGet, path+"?pageToken=", ""); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", path, got.status, got.body)
		}
	}
}

func TestStrictBodies(t *testing.T) {
	const replay, bulk = "/dlq/x/replay", "/replays"
	tests := []struct {
		name, target, body string
		headers            []string
		status             int
		says               string
	}{
		{"none", replay, "", nil, 400, "there is no body"},
		{"no JSON", replay, "reason=x", nil, 400, "it is not JSON"},
		{"too early an end", replay, `{"reason":"x"`, nil, 400, "ends too early"},
		{"trailing garbage", replay, because + "x", nil, 400, "stands after"},
		{"a second value", replay, because + because, nil, 400, "stands after"},
		{"a list", replay, `["x"]`, nil, 422, "expected object"},
		{"a text", replay, `"x"`, nil, 422, "expected object"},
		{"null", replay, `null`, nil, 400, "null"},
		{"no reason", replay, `{}`, nil, 422, "reason"},
		{"empty reason", replay, `{"reason":""}`, nil, 422, "body.reason"},
		{"null reason", replay, `{"reason":null}`, nil, 400, "reason\\\" is null"},
		{"reason of another type", replay, `{"reason":1}`, nil, 422, "body.reason"},
		{"long reason", replay, `{"reason":"` + strings.Repeat("x", 1001) + `"}`, nil, 422, "body.reason"},
		{"unknown field", replay, `{"reason":"x","force":true}`, nil, 422, "body.force"},
		{"field twice", replay, `{"reason":"x","reason":"y"}`, nil, 400, "stands twice"},
		{"field twice in another case", replay, `{"reason":"x","REASON":"y"}`, nil, 400, "stands twice"},
		{"field in another case", replay, `{"REASON":"x"}`, nil, 422, "body.REASON"},
		{"field of the filter in another case", bulk, `{"filter":{"Tier":"SAFE_AUTO"}}`, nil, 422, "body.filter.Tier"},
		{"no UTF-8", replay, "{\"reason\":\"\xff\"}", nil, 400, "UTF-8"},
		{"deep", replay, `{"reason":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, nil, 400, "nested"},
		{"as a form", replay, because, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "Content-Type"},
		{"as text", replay, because, []string{"Content-Type", "text/plain"}, 415, "Content-Type"},
		{"as nothing", replay, because, []string{"Content-Type", ""}, 415, "Content-Type"},
		{"in another charset", replay, because, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "Content-Type"},
		{"compressed", replay, "\x1f\x8b\x08", []string{"Content-Encoding", "gzip"}, 415, "Content-Encoding"},
		{"compressed by its header alone", replay, because, []string{"Content-Encoding", "br"}, 415, "Content-Encoding"},
		{"too large", replay, `{"reason":"` + strings.Repeat("x", 64<<10) + `"}`, nil, 413, "65536"},
		{"no filter", bulk, `{}`, nil, 422, "filter"},
		{"filter that is null", bulk, `{"filter":null}`, nil, 400, "null"},
		{"unknown field of the filter", bulk, `{"filter":{"teir":"SAFE_AUTO"}}`, nil, 422, "body.filter.teir"},
		{"empty value of the filter", bulk, `{"filter":{"eventType":""}}`, nil, 422, "body.filter.eventType"},
		{"null value of the filter", bulk, `{"filter":{"eventType":null}}`, nil, 400, "null"},
		{"no tier", bulk, `{"filter":{"tier":"NONE"}}`, nil, 422, "body.filter.tier"},
		{"the zero time", bulk, `{"filter":{"to":"0001-01-01T00:00:00Z"}}`, nil, 422, "body.filter.to"},
		{"the zero time of a zone", bulk, `{"filter":{"from":"0001-01-01T01:00:00+01:00"}}`, nil, 422, "body.filter.from"},
		{"no time", bulk, `{"filter":{"from":"yesterday"}}`, nil, 422, "body.filter.from"},
		{"negative rate", bulk, `{"filter":{},"ratePerSecond":-1}`, nil, 422, "body.ratePerSecond"},
		{"enormous rate", bulk, `{"filter":{},"ratePerSecond":1e300}`, nil, 422, "body.ratePerSecond"},
		{"rate beyond numbers", bulk, `{"filter":{},"ratePerSecond":1e999}`, nil, 400, "body"},
		{"dry run in words", bulk, `{"filter":{},"dryRun":"no"}`, nil, 422, "body.dryRun"},
	}
	f := setup(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.pass(time.Second)
			send(t, f.handler, request(t, "dev-security", http.MethodPost, tt.target, tt.body, tt.headers...)).refused(tt.status, tt.says)
		})
	}
	if calls := f.queue.asked(); len(calls) > 0 {
		t.Errorf("the queue was asked %v", calls)
	}
	t.Run("good ones", func(t *testing.T) {
		f := setup(t)
		for _, kind := range []string{"application/json", "application/json; charset=UTF-8", "Application/JSON"} {
			read[admin.Decided](f.do("dev-security", http.MethodPost, replay, " \n"+because+" \n", "Content-Type", kind), http.StatusAccepted)
		}
		read[admin.Decided](f.do("dev-security", http.MethodPost, replay, because, "Content-Encoding", "identity"), http.StatusAccepted)
		exact := `{"reason":"x"}` + strings.Repeat(" ", 64<<10-len(`{"reason":"x"}`))
		read[admin.Decided](f.do("dev-security", http.MethodPost, replay, exact), http.StatusAccepted)
	})
}

func TestIDsArePercentEncoded(t *testing.T) {
	f := setup(t)
	for path, want := range map[string]string{
		"7f0c:acc-1:3":      "7f0c:acc-1:3",
		"7f0c%3Aacc-1%3A3":  "7f0c:acc-1:3",
		"e:acc%252F1:3":     "e:acc%2F1:3", // an ID in which a slash was escaped
		"e:acc%2F1:3":       "e:acc/1:3",
		"%2E%2E":            "..",
		"a%20b+c":           "a b+c",
		"%C3%A9%E2%82%AC":   "é€",
		"e%3Fx=1%23y":       "e?x=1#y",
		"groups%2F..%2Fdlq": "groups/../dlq",
	} {
		f := setup(t)
		read[admin.DeadLetterDetail](f.do("dev-viewer", http.MethodGet, "/dlq/"+path, ""), http.StatusOK)
		if f.queue.id != want {
			t.Errorf("%s: the queue was asked for %q, want %q", path, f.queue.id, want)
		}
		read[admin.Decided](f.do("dev-operator", http.MethodPost, "/dlq/"+path+"/notes", because), http.StatusOK)
		if f.queue.id != want {
			t.Errorf("%s: %q was decided about, want %q", path, f.queue.id, want)
		}
		read[admin.Released](f.do("dev-security", http.MethodPost, "/freezes/"+path+"/release", because), http.StatusAccepted)
		if f.queue.id != want {
			t.Errorf("%s: %q was released, want %q", path, f.queue.id, want)
		}
		read[admin.Timeline](f.do("dev-viewer", http.MethodGet, "/trace/"+path, ""), http.StatusOK)
		if f.queue.id != want {
			t.Errorf("%s: %q was traced, want %q", path, f.queue.id, want)
		}
	}
	f.do("dev-viewer", http.MethodGet, "/dlq/%FF", "").refused(http.StatusBadRequest, "UTF-8")
}

func TestTracesNamedByDotsAreFound(t *testing.T) {
	f := setup(t)
	for path, want := range map[string]string{"%252E": ".", "%252E.": "..", "%25252E": "%2E", "trace-1": "trace-1"} {
		if read[admin.Timeline](f.do("dev-viewer", http.MethodGet, "/trace/"+path, ""), http.StatusOK); f.queue.id != want {
			t.Errorf("%s: %q was traced, want %q", path, f.queue.id, want)
		}
	}
}

// TestDeadLettersNamedAsOperations: no operation beside GET /dlq/{id} stands in the place of
// a dead letter of its name.
func TestDeadLettersNamedAsOperations(t *testing.T) {
	f := setup(t)
	ids := map[string]string{"%252567roups": "%67roups", "group": "group"}
	for _, e := range endpoints {
		if taken, below := strings.CutPrefix(e.pattern, "/dlq/"); below && !strings.HasPrefix(taken, "{") {
			ids[url.PathEscape(dlq.LetterName(taken))] = taken
		}
	}
	for path, want := range ids {
		read[admin.DeadLetterDetail](f.do("dev-viewer", http.MethodGet, "/dlq/"+path, ""), http.StatusOK)
		if f.queue.id != want {
			t.Errorf("%s: looked at %q, want %q", path, f.queue.id, want)
		}
		for _, what := range []string{"notes", "uncover"} {
			f.queue.id = "none"
			f.do("dev-security", http.MethodPost, "/dlq/"+path+"/"+what, because)
			if f.queue.id != want {
				t.Errorf("%s of %s: got to %q, want %q", what, path, f.queue.id, want)
			}
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	f := setup(t)
	for _, target := range []string{"", "/", "/dlq/", "/nope", "/dlq/a/b", "/dlq/a/replay/", "//dlq", "/dlq/../lanes", "/dlq/./groups", "/DLQ", "/docs", "/schemas/Problem.json", "/openapi.yaml"} {
		f.pass(time.Second)
		f.do("dev-viewer", http.MethodGet, target, "").refused(http.StatusNotFound, "nothing is served")
	}
	for _, tt := range []struct{ method, target, allow string }{
		{http.MethodPost, "/dlq", "GET, HEAD"},
		{http.MethodDelete, "/dlq/x", "GET, HEAD"},
		{http.MethodPut, "/replays", "GET, POST, HEAD"},
		{http.MethodGet, "/dlq/x/replay", "POST"},
		{http.MethodHead, "/dlq/x/replay", "POST"},
		{http.MethodOptions, "/dlq", "GET, HEAD"},
		{http.MethodPatch, "/dlq/x/discard", "POST"},
		{"PROPFIND", "/lanes", "GET, HEAD"},
		{http.MethodTrace, "/lanes", "GET, HEAD"},
	} {
		a := f.do("dev-security", tt.method, tt.target, because)
		a.refused(http.StatusMethodNotAllowed, "not allowed")
		if got := a.header.Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: Allow is %q, want %q", tt.method, tt.target, got, tt.allow)
		}
		if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s %s: another origin is let in: %q", tt.method, tt.target, got)
		}
	}
	if calls := f.queue.asked(); len(calls) > 0 {
		t.Errorf("the queue was asked %v", calls)
	}
	if a := f.do("dev-viewer", http.MethodHead, "/dlq", ""); a.status != http.StatusOK {
		t.Errorf("HEAD: got %d", a.status)
	}
}

func TestReadsChangeNothing(t *testing.T) {
	f := setup(t)
	for _, e := range endpoints {
		if e.method == http.MethodGet {
			f.pass(time.Second)
			f.do("dev-security", http.MethodGet, e.target, because)
			f.do("dev-security", http.MethodHead, e.target, "")
		}
	}
	for _, call := range f.queue.asked() {
		if slices.Contains([]string{"Decide", "StartBulk", "CancelBulk", "Release", "SetLane"}, call) {
			t.Errorf("a read calls %s", call)
		}
	}
}

func TestLargeHeaders(t *testing.T) {
	f := setup(t)
	f.do("dev-viewer", http.MethodGet, "/dlq", "", "X-Filler", strings.Repeat("x", 20_000)).refused(http.StatusRequestHeaderFieldsTooLarge, "16384")
}
