package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

var (
	nextLink  = regexp.MustCompile(`rel="next" href="([^"]+)"`)
	againLink = regexp.MustCompile(`<main[^>]* hx-get="([^"]+)"`)
	openLinks = regexp.MustCompile(`class="open" href="([^"]+)"`)
)

// found is what an expression finds in a page, as an address below /console.
func found(text string, e *regexp.Regexp) string {
	m := e.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.TrimPrefix(html.UnescapeString(m[1]), "/console")
}

// shown lists the rows of a page by their addresses.
func shown(text string) []string {
	var out []string
	for _, m := range openLinks.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// many buries n dead letters, a second apart, the last of them now.
func (f *fixture) many(n int, change ...func(n int, i *dlq.Item)) []*dlq.Item {
	f.t.Helper()
	items := make([]*dlq.Item, n)
	for k := range items {
		items[k] = f.letter("accOutbox", "WalletDeducted", fmt.Sprintf("acc-%d", k), 1, func(i *dlq.Item) {
			i.DeadAt = i.DeadAt.Add(time.Duration(k-n) * time.Second)
			for _, c := range change {
				c(k, i)
			}
		})
	}
	f.bury(items...)
	return items
}

func TestPagesFollowEachOther(t *testing.T) {
	f := setup(t)
	f.many(120)
	p := f.person("dev-viewer")
	seen := make(map[string]bool)
	path, pages := "/dlq", 0
	for path != "" {
		status, text := p.get(path)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d", path, status)
		}
		for _, at := range shown(text) {
			if seen[at] {
				t.Errorf("%s is shown twice", at)
			}
			seen[at] = true
		}
		if pages == 0 && !strings.Contains(text, "<strong>120 dead letters</strong>") {
			t.Error("the first page does not say how many there are")
		}
		path = found(text, nextLink)
		pages++
		if pages == 1 {
			f.die("accOutbox", "WalletDeducted", "late", 1)
		}
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d dead letters on %d pages, want 120 on 3", len(seen), pages)
	}
}

func TestPageStandsStillWhileItemsArrive(t *testing.T) {
	f := setup(t)
	items := f.many(60)
	p := f.person("dev-viewer")
	_, before := p.get("/dlq")
	again, next := found(before, againLink), found(before, nextLink)
	for n := range 3 {
		f.die("accOutbox", "WalletDeducted", fmt.Sprintf("new-%d", n), 1)
	}
	closed := items[59]
	decide(f, closed, dlq.Discard)
	_, after := p.get(again)
	if got, want := strings.Join(shown(after), "\n"), strings.Join(shown(before), "\n"); got != want {
		t.Errorf("the page shows\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(after, "3 dead letters arrived since") {
		t.Error("it does not say what arrived")
	}
	if !strings.Contains(after, `data-state="discarded"`) {
		t.Error("a row does not follow its dead letter")
	}
	if found(after, againLink) != again || found(after, nextLink) != next {
		t.Error("the page leads elsewhere once it was fetched again")
	}
	if _, fresh := p.get("/dlq"); shown(fresh)[0] == shown(before)[0] || strings.Contains(fresh, "arrived since") {
		t.Error("the address of the page shows what was, to one who opens it anew")
	}
}

func TestForeignPageTokenLeadsToTheFirstPage(t *testing.T) {
	f := setup(t)
	f.many(60)
	p := f.person("dev-viewer")
	_, text := p.get("/dlq")
	next, err := url.Parse(found(text, nextLink))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{next.String() + "&lane=CRITICAL_LANE", "/dlq?lane=CRITICAL_LANE&pageToken=nonsense", "/dlq?lane=CRITICAL_LANE&pageToken=" + strings.Repeat("a", 5000)} {
		status, text := p.get(path)
		if status != http.StatusOK || !strings.Contains(text, "This page cannot be shown") || !strings.Contains(text, `<a href="/console/dlq?lane=CRITICAL_LANE">Show the first page of this list</a>`) {
			t.Errorf("%.80s: status %d, and no way back", path, status)
		}
	}
}

func TestEmptyListSaysWhatThatMeans(t *testing.T) {
	f := setup(t)
	p := f.person("dev-viewer")
	if _, text := p.get("/dlq"); !strings.Contains(text, "good news") {
		t.Error("an empty queue is no good news")
	}
	if _, text := p.get("/groups"); !strings.Contains(text, "good news") {
		t.Error("an empty queue is no good news among the groups")
	}
	f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	for _, screen := range []string{"/dlq", "/groups"} {
		if _, text := p.get(screen + "?lane=BACKGROUND_LANE"); !strings.Contains(text, "No dead letter fits this filter") || strings.Contains(text, "good news") {
			t.Errorf("%s does not say that the filter leaves nothing", screen)
		}
	}
}

func TestWhatMayNotBeReplayedTogetherSaysWhy(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	f.die("accOutbox", "RoleChanged", "acc-2", 1)
	_, text := f.person("dev-viewer").get("/dlq")
	if !strings.Contains(text, "it needs the role operator, and you have viewer") || strings.Contains(text, "/replays/new\"") && strings.Contains(text, `id="replaypicked"`) {
		t.Error("a viewer is not told why nothing can be replayed")
	}
	_, text = f.person("dev-operator").get("/dlq")
	if got := strings.Count(text, `disabled title="In no bulk replay: dead letters of SECURITY_BLOCK are decided one by one"`); got != 1 {
		t.Errorf("%d rows are barred, want the one of SECURITY_BLOCK", got)
	}
	if !strings.Contains(text, `href="/console/replays/new"`) {
		t.Error("there is no way to replay all")
	}
	if _, text = f.person("dev-operator").get("/dlq?tier=SECURITY_BLOCK"); strings.Contains(text, `href="/console/replays/new`) {
		t.Error("SECURITY_BLOCK is offered for a bulk replay")
	}
	if _, text = f.person("dev-operator").get("/dlq?open=any&outbox=accOutbox"); !strings.Contains(text, `href="/console/replays/new?outbox=accOutbox"`) {
		t.Error("the filter does not reach the bulk replay")
	}
}

// hostile is what must come out of a page as it went in, and do nothing there.
var hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>` + "\u202egpj.exe\u0000\u0007" + strings.Repeat("long", 60)

func TestHostileTextsAreShownAndDoNothing(t *testing.T) {
	f := setup(t)
	spoil := func(i *dlq.Item) {
		i.EventType, i.AggregateID, i.PendingTargets = hostile, hostile, []string{hostile}
		i.ID = dlq.ID(hostile + "/" + i.EventID)
		i.Errors = []contracts.AttemptError{{At: i.DeadAt, Attempt: 1, Target: hostile, Code: hostile, Message: hostile}}
	}
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1, spoil)
	p := f.person("dev-operator")
	for _, path := range []string{"/dlq", "/groups", "/dlq?" + url.Values{"aggregateId": {hostile}}.Encode(), "/dlq?" + url.Values{"eventType": {hostile}}.Encode()} {
		status, text := p.get(path)
		if status != http.StatusOK || !strings.Contains(html.UnescapeString(text), "‹U+202E›") || strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") {
			t.Errorf("%.60s: status %d, or the text is not shown as one", path, status)
		}
	}
	if _, text := p.get("/dlq"); !strings.Contains(text, html.EscapeString(url.PathEscape(i.ID))) {
		t.Error("the row does not lead to its dead letter")
	}
}
