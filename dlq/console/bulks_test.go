package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// reviewable buries n dead letters that wait for a review, each of its own aggregate.
func (f *fixture) reviewable(n int) []*dlq.Item {
	f.t.Helper()
	var all []*dlq.Item
	for k := range n {
		all = append(all, f.letter("orgOutbox", "SkillRecognitionGranted", fmt.Sprintf("org-%04d", k), 1))
	}
	f.bury(all...)
	return all
}

// granted is the query of their filter.
const granted = "?eventType=SkillRecognitionGranted"

// bulks lists the bulk replays that there are.
func (f *fixture) bulks() []*dlq.Bulk {
	f.t.Helper()
	p, err := f.queue.Bulks(f.t.Context(), dlq.Page{})
	f.must(err)
	return p.Items
}

// start begins a bulk replay as the API does.
func (f *fixture) start(rate float64) *dlq.Bulk {
	f.t.Helper()
	b, err := f.queue.StartBulk(f.t.Context(), dlq.BulkRequest{
		Filter: dlq.Filter{EventType: "SkillRecognitionGranted"}, RatePerSecond: rate, Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: "mended",
	})
	f.must(err)
	return b
}

// fails is a round in which every target refused the record.
func fails(i *dlq.Item) dlq.Round {
	var r dlq.Round
	for _, target := range i.PendingTargets {
		r.Failed = append(r.Failed, contracts.AttemptError{At: time.Now(), Attempt: 4, Target: target, Code: "Internal", Message: "still no"})
	}
	return r
}

// gate holds up replays until it is opened.
func (f *fixture) gate() (open func()) {
	passed := make(chan struct{})
	f.lanes.follow(func(i *dlq.Item) (dlq.Round, error) {
		select {
		case <-passed:
			return dlq.Round{Acked: i.PendingTargets}, nil
		default:
			return dlq.Round{Blocked: i.PendingTargets}, nil
		}
	})
	return sync.OnceFunc(func() { close(passed) })
}

// hidden reads the hidden fields of the form that starts a bulk replay.
func hidden(page string) url.Values {
	form := make(url.Values)
	_, page, _ = strings.Cut(page, `id="start"`)
	page, _, _ = strings.Cut(page, "</form>")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		form.Add(m[1], strings.NewReplacer("&#43;", "+", "&amp;", "&", "&#34;", `"`, "&lt;", "<", "&gt;", ">", "&#39;", "'").Replace(m[2]))
	}
	return form
}

// mainOf cuts out what a page is about.
func mainOf(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page, _, _ = strings.Cut(page, "</main>")
	return page
}

func TestBulkIsStartedWithoutScripts(t *testing.T) {
	f := setup(t)
	f.reviewable(12)
	p := f.person("dev-operator")
	status, page := p.get("/replays/new" + granted)
	if status != http.StatusOK || !strings.Contains(page, "12 dead letters are replayed") || strings.Count(page, `<td role="cell" class="place">`) != 12 ||
		strings.Count(page, `<span class="tag warn">first</span></td>`) != 5 {
		t.Fatalf("status %d: %s", status, mainOf(page))
	}
	form := hidden(page)
	form.Set("rate", "500")
	form.Set("why", "mended")
	status, page = p.post("/replays/new", form)
	if status != http.StatusOK || !strings.Contains(page, "It was started") {
		t.Fatalf("status %d: %s", status, mainOf(page))
	}
	if status, page := p.post("/replays/new", form); status != http.StatusOK || !strings.Contains(page, "It was started") {
		t.Errorf("sent again: status %d: %s", status, mainOf(page))
	}
	all := f.bulks()
	if len(all) != 1 {
		t.Fatalf("%d bulk replays, want one", len(all))
	}
	f.eventually("it is done", func() bool { return f.bulks()[0].State == dlq.BulkDone })
	if _, page := p.get("/replays/" + all[0].ID); !strings.Contains(page, "All of it was delivered") {
		t.Errorf("its end: %s", mainOf(page))
	}
	if _, page := p.get("/replays"); !strings.Contains(page, "mended") || !strings.Contains(page, all[0].ID) {
		t.Errorf("the list: %s", mainOf(page))
	}
}

func TestBulkOfWhatIsNotSeenAnyMoreIsRefused(t *testing.T) {
	f := setup(t)
	all := f.reviewable(3)
	p := f.person("dev-operator")
	_, page := p.get("/replays/new" + granted)
	form := hidden(page)
	form.Set("rate", "500")
	form.Set("why", "it is <mended>")
	_, err := f.queue.Decide(t.Context(), all[1].ID, dlq.Decide{Action: dlq.Discard, Actor: dlq.Actor{Name: "other", Role: dlq.Operator}, Reason: "x"})
	f.must(err)
	later := f.letter("orgOutbox", "SkillRecognitionGranted", "org-later", 1)
	later.DeadAt = time.Now().Add(time.Second)
	f.bury(later)
	status, page := p.post("/replays/new", form)
	for _, want := range []string{
		"of 3 dead letters 2 are as they were, 1 went or changed, and 0 came", "look at it again, then start it", "2 dead letters are replayed",
		"not what you saw before", "it is &lt;mended&gt;</textarea>", `value="500"`,
	} {
		if status != http.StatusPreconditionFailed || !strings.Contains(page, want) {
			t.Errorf("status %d, and %q is not on the page", status, want)
		}
	}
	if n := len(f.bulks()); n != 0 {
		t.Errorf("%d bulk replays, want none", n)
	}
	form = hidden(page)
	form.Set("rate", "500")
	if status, page := p.post("/replays/new", form); status != http.StatusOK {
		t.Errorf("after another look: status %d: %s", status, mainOf(page))
	}
	if all := f.bulks(); len(all) != 1 || all[0].Total != 2 {
		t.Errorf("started %+v, want one of 2", all)
	}
}

func TestDryRunsThatStartNothing(t *testing.T) {
	f := setup(t)
	blocked := f.die("accOutbox", "RoleChanged", "acc-1", 1)
	many := "?ids=x"
	for n := range 200 {
		many += fmt.Sprint("&ids=", n)
	}
	for _, c := range []struct {
		name, as, query string
		want            string
	}{
		{"nothing is said", "dev-operator", "", "What is to be replayed?"},
		{"nothing fits", "dev-operator", "?outbox=nowhere", "No open dead letter fits"},
		{"what is blocked", "dev-operator", "?ids=" + blocked.ID, "1 left out: SECURITY_BLOCK: each of these is decided by itself"},
		{"what is gone", "dev-operator", "?ids=nowhere", "1 left out: gone"},
		{"closed ones", "dev-operator", "?open=false", "closed dead letters cannot be replayed"},
		{"an odd tier", "dev-operator", "?tier=MILD", "SAFE_AUTO"},
		{"an odd time", "dev-operator", "?from=yesterday", "is no time"},
		{"too many", "dev-operator", many, "body.ids"},
		{"both", "dev-operator", "?ids=x&tier=SAFE_AUTO", "single dead letters and a filter"},
		{"a viewer", "dev-viewer", granted, "Bulk replays are for the role operator, and you have viewer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, page := f.person(c.as).get("/replays/new" + c.query)
			if status != http.StatusOK || !strings.Contains(page, c.want) || strings.Contains(page, `id="start"`) {
				t.Errorf("status %d, want %q: %s", status, c.want, mainOf(page))
			}
		})
	}
}

func TestViewerStartsAndCancelsNothing(t *testing.T) {
	f := setup(t)
	f.reviewable(3)
	_, page := f.person("dev-operator").get("/replays/new" + granted)
	form := hidden(page)
	p := f.person("dev-viewer")
	if status, page := p.post("/replays/new", form); status != http.StatusForbidden || !strings.Contains(page, "needs the role operator") {
		t.Errorf("start: status %d: %s", status, mainOf(page))
	}
	b := f.start(1)
	for _, path := range []string{"/replays", "/replays/" + b.ID} {
		if _, page := p.get(path); !strings.Contains(page, "Bulk replays are for the role operator") {
			t.Errorf("%s: %s", path, mainOf(page))
		}
	}
	if status, _ := p.post("/replays/"+b.ID+"/cancel", url.Values{"reason": {"x"}}); status != http.StatusForbidden {
		t.Errorf("cancel: status %d", status)
	}
	if all := f.bulks(); len(all) != 1 || all[0].State == dlq.BulkCancelled {
		t.Errorf("%d bulk replays, the last is %s", len(all), all[0].State)
	}
}

// Whoever cancelled a bulk replay finds what it left, though its filter has long left the address.
func TestCancelledBulkLeadsToWhatItLeft(t *testing.T) {
	f := setup(t)
	f.reviewable(20)
	f.gate()
	b := f.start(100)
	f.eventually("the canary is under way", func() bool { return f.bulks()[0].Replaying == 5 })
	p := f.person("dev-operator")
	if _, page := p.get("/replays/" + b.ID); strings.Contains(page, "what is left") {
		t.Error("while it goes on, a second one of the same is offered")
	}
	_, page := p.post("/replays/"+b.ID+"/cancel", nil)
	if !strings.Contains(page, "dev-operator cancelled it and gave no reason. 15 dead letters were not asked for") {
		t.Errorf("the page does not tell how it ended:\n%s", page)
	}
	link := regexp.MustCompile(`href="/console(/replays/new\?[^"]*)">Look at what is left`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("nothing leads to what is left:\n%s", page)
	}
	if _, page := p.get(html.UnescapeString(link[1])); !strings.Contains(page, "15 dead letters are replayed") {
		t.Errorf("the look shows something else:\n%s", page)
	}
}

func TestRatesThatMakeNoSense(t *testing.T) {
	f := setup(t)
	f.reviewable(2)
	p := f.person("dev-operator")
	_, page := p.get("/replays/new" + granted)
	for _, rate := range []string{"fast", "0", "-1", "1e9", "NaN"} {
		form := hidden(page)
		form.Set("rate", rate)
		form.Set("why", "kept")
		status, again := p.post("/replays/new", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(again, "kept</textarea>") || !strings.Contains(again, fmt.Sprintf(`value="%s"`, rate)) ||
			!strings.Contains(again, "2 dead letters are replayed") {
			t.Errorf("rate %s: status %d: %s", rate, status, mainOf(again))
		}
		if got, want := hidden(again).Get("key"), form.Get("key"); got != want || want == "" {
			t.Errorf("rate %s: the key is %q, want %q as before", rate, got, want)
		}
	}
	if n := len(f.bulks()); n != 0 {
		t.Errorf("%d bulk replays, want none", n)
	}
}

func TestLongDryRunIsPaged(t *testing.T) {
	f := setup(t)
	f.reviewable(230)
	p := f.person("dev-operator")
	_, page := p.get("/replays/new" + granted)
	seen := make(map[string]bool)
	next := regexp.MustCompile(`href="/console([^"]+)">After these</a>`)
	for pages := 1; ; pages++ {
		for _, m := range regexp.MustCompile(`org-\d{4}`).FindAllString(page, -1) {
			seen[m] = true
		}
		if !strings.Contains(page, "230 dead letters are replayed") || strings.Contains(page, "not what you saw before") {
			t.Errorf("page %d: %s", pages, mainOf(page))
		}
		m := next.FindStringSubmatch(page)
		if m == nil {
			if pages != 3 || len(seen) != 230 {
				t.Errorf("%d pages with %d of 230", pages, len(seen))
			}
			break
		}
		f.die("orgOutbox", "SkillRecognitionGranted", fmt.Sprint("late-", pages), 1) // not what is looked at
		_, page = p.get(strings.ReplaceAll(m[1], "&amp;", "&"))
	}
}
