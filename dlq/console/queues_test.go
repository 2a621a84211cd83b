package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
	"outboxrelay/relay/workqueue"
)

func says(t *testing.T, page string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestQueuesTellWhatIsWrong(t *testing.T) {
	f := setup(t)
	_ = f.targets()
	f.work.job("org-1", "pendign", nil)
	f.work.set(func(h *workqueue.Health) {
		h.Round.Error, h.Listener.State, h.Listener.Reason = "Unavailable", workqueue.ListenerRebuilding, "recycled"
	})
	p := f.person("dev-viewer")
	for _, path := range []string{"/queues", "/"} {
		status, page := p.get(path)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d", path, status)
		}
		says(t, page, "1 job of queue jobs failed while it was sent: nobody knows whether it was.", "1 stale lock of queue jobs", "The oldest pending document of queue jobs is 3 h old.",
			"1 document of queue notifications is failed", "The listener of queue jobs is being rebuilt. It ended for recycled.", "The last round through queue jobs failed: Unavailable.",
			"Queue jobs has 1 document of an unknown status, or of none: nobody acts on them.")
	}
	_, page := p.get("/queues")
	says(t, page, "1 of 16 workers are busy; 2 wait for one, 3 are due later", "the instance that answers does not run this queue")
}

func TestQueueItemsAreFilteredByTheAddress(t *testing.T) {
	f := setup(t)
	_ = f.targets()
	for n := range 60 {
		f.work.job("org-3", "dead", map[string]any{"createdAt": time.Now().Add(-time.Duration(n+1) * time.Minute), "lastErrorCode": "NOT_SENT"})
	}
	p := f.person("dev-viewer")
	rows := func(page string) int { return strings.Count(page, `class="letter"`) }
	_, page := p.get("/queues/jobs?status=dead&tenant=org-3")
	if n := rows(page); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
	says(t, page, "outbox-relay queue list jobs --status=dead --tenant=org-3", "NOT_SENT", "1 of 5")
	next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(page)
	if next == nil {
		t.Fatal("there is no next page")
	}
	at := strings.ReplaceAll(next[1], "&amp;", "&")
	if _, page = p.get(at); rows(page) != 10 {
		t.Errorf("%d rows on the second page, want 10", rows(page))
	}
	f.work.job("org-3", "dead", nil) // what comes does not shift what follows
	if _, page = p.get(at); rows(page) != 10 {
		t.Errorf("%d rows on the second page, want 10", rows(page))
	}
	_, page = p.get("/queues/jobs?status=processing")
	says(t, page, "stale lock")
	strange := f.work.job("org-3", "ded", nil)
	_, page = p.get("/queues/jobs?status=ded")
	says(t, page, "matter.created", "outbox-relay queue list jobs --status=ded")
	_, page = p.get(jobPath(strange))
	says(t, page, "is none of queue jobs")
	_, page = p.get("/queues/jobs?status=none")
	says(t, page, "No document is like that")
	_, page = p.get("/queues/jobs?pageToken=none")
	says(t, page, "This page cannot be shown")
	if status, page := p.get("/queues/none"); status != http.StatusNotFound || !strings.Contains(page, "there is no work queue") {
		t.Errorf("no such queue: %d", status)
	}
}

var etagField = regexp.MustCompile(`name="etag" value="([^"]+)"`)

func TestJobIsRequeuedWithoutScripts(t *testing.T) {
	f := setup(t)
	at := f.targets()
	_, page := f.person("dev-viewer").get(jobPath(at.job))
	says(t, page, "needs the role operator", "nobody knows whether it was sent, and nobody sends it again")
	p := f.person("dev-operator")
	_, page = p.get(jobPath(at.job))
	says(t, page, "Before you requeue it:", "the recipient may have it twice", "as if it had never been tried", "It goes to bob by email.", "outbox-relay queue requeue jobs")
	tag := etagField.FindStringSubmatch(page)
	if tag == nil {
		t.Fatal("there is no form")
	}
	form := url.Values{"act": {"requeue"}, "etag": {strings.ReplaceAll(tag[1], "&#34;", `"`)}, "reason": {"bob never had it"}, "back": {"/console" + jobPath(at.job)}}
	status, page := p.post(jobPath(at.job)+"/requeue", form)
	if status != http.StatusOK || f.work.statusOf(at.job) != "pending" {
		t.Fatalf("status %d, the job is %v", status, f.work.statusOf(at.job))
	}
	says(t, page, "It is pending again", "bob never had it", "it is pending already")
	status, page = p.post(jobPath(at.job)+"/requeue", form)
	if status != http.StatusPreconditionFailed || !strings.Contains(page, "it was changed since you looked at it") || !strings.Contains(page, "You had written: bob never had it") {
		t.Errorf("a second time: status %d", status)
	}
	_, page = p.get("/audit?subject=queue_item")
	says(t, page, "work queue", "/console/queueitem?path=")
	if _, page = p.get("/queueitem?path=" + url.QueryEscape(at.job)); !strings.Contains(page, "waits for a worker") {
		t.Error("the audit's link does not lead to the job")
	}
}

func TestQueueItemIsLive(t *testing.T) {
	f := setup(t)
	path := f.work.job("org-1", "pending", nil)
	p := f.open(look{as: "dev-operator"}, jobPath(path))
	p.Shows("waits for a worker")
	f.work.write(path, map[string]any{"status": "dead", "createdAt": time.Now(), "attempts": 5, "lastErrorCode": "NOT_SENT", "lastError": "the mailbox is full"}, nil)
	p.Shows("is dead after 5 of 5 attempts")
	p.Shows("the mailbox is full")
	p.quiet()
}

func TestBellFillsLive(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-viewer"}, "/bell")
	p.Shows("Nothing has come yet")
	eval[bool](p, "(window.mark = 1, true)")
	f.work.ring("Fuga", "Se registró una fuga")
	p.Shows("Se registró una fuga")
	if !eval[bool](p, "window.mark === 1") {
		t.Error("the page was loaded again")
	}
	p.quiet()
	_, page := f.person("dev-viewer").get("/bell?of=c/k/ben")
	says(t, page, "Nothing has come yet")
	if status, _ := f.person("dev-viewer").get("/bell?of=none"); status != http.StatusNotFound {
		t.Errorf("somebody who is not there: status %d", status)
	}
}

func TestNoQueuesAndNoBells(t *testing.T) {
	f := setup(t)
	api := f.api(f.store, f.queue, func(c *admin.Config) { c.Queues = nil })
	c, err := console.New(console.Config{API: api, Authenticator: f.who, Mode: f.mode, Catalog: f.catalog})
	f.must(err)
	t.Cleanup(c.Close)
	handler := http.Handler(c)
	f.handler.Store(&handler)
	_, page := f.person("dev-viewer").get("/queues")
	says(t, page, "This service has no work queues")
	if strings.Contains(page, "/console/bell") {
		t.Error("there is a way to a bell")
	}
	if status, _ := f.person("dev-viewer").get("/bell"); status != http.StatusNotFound {
		t.Errorf("the bell: status %d", status)
	}
}

// TestHostileJobs lets each text be what a job says, and opens the screens on which it stands.
func TestHostileJobs(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for name, text := range hostileTexts {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			short := text[:min(len(text), 1000)]
			path := f.work.job("org-1", "failed", map[string]any{
				"orgId": short, "eventType": short, "entityId": short, "recipientId": short, "channel": short, "lockOwner": short,
				"lastError": text, "lastErrorCode": short, "payload": map[string]any{"text": text},
			})
			f.work.ring(short, text)
			p := f.open(look{as: "dev-operator"}, "/")
			defer p.close()
			for _, at := range []string{"/", "/queues", "/queues/jobs", "/queues/jobs?tenant=" + url.QueryEscape(short), "/queues/" + url.PathEscape(short[:min(len(short), 100)]), jobPath(path), "/bell"} {
				p.goTo(at)
				if title := eval[string](p, "document.title"); strings.HasPrefix(title, "taken") || !strings.Contains(title, "DLQ Manager") {
					t.Errorf("%s: the title is %q", at, title)
				}
				if n := eval[int](p, "document.querySelectorAll('main script, main img, main svg:not(.chart), main [onload], main [onmouseover], main a[href^=\"javascript\" i]').length"); n > 0 {
					t.Errorf("%s: %d elements come from the job", at, n)
				}
				for _, l := range []look{{width: 390, height: 900}, {width: 1920, height: 900}} {
					p.turn(l)
					p.sideways()
					p.picture(fmt.Sprintf("hostile job %s %v %s", name, l, url.PathEscape(at[:min(len(at), 20)])))
				}
			}
			p.quietBut("404", "400", "422", "414")
		})
	}
}

// TestQueuesLook looks at the screens of the queues and at the bell, in each window and theme.
func TestQueuesLook(t *testing.T) {
	f := setup(t)
	at := f.targets()
	f.work.ring("Fuga en el sótano", "Se registró una fuga de agua en el sótano.")
	f.work.ring("Ascensor", "El ascensor vuelve a funcionar.")
	p := f.open(look{as: "dev-operator"}, "/")
	for name, path := range map[string]string{"queues": "/queues", "queue": "/queues/jobs", "job": jobPath(at.job), "event": "/queues/notifications/items/" + url.PathEscape(at.event), "bell": "/bell"} {
		p.goTo(path)
		if name == "job" {
			p.Click("#act-requeue summary")
		}
		p.looksWell(name, looks...)
		p.quiet()
	}
}
