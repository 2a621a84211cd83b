package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// everyLook shows a screen light and dark, wide and narrow, keeps pictures and
// looks for faults.
func (f *fixture) everyLook(name, as, path string) {
	f.t.Helper()
	p := f.open(look{as: as}, path)
	p.looksWell(name, looks...)
	p.quiet()
	p.close()
}

func TestBulkFromDryRunToItsEndInOnePage(t *testing.T) {
	f := setup(t)
	f.reviewable(60)
	open := f.gate()
	p := f.open(look{as: "dev-operator"}, "/replays/new"+granted)
	p.Shows("60 dead letters are replayed")
	p.Run(chromedp.SetValue(chromedp.CSS("#rate"), ""))
	p.Write("#rate", "500")
	p.Until("the plan is of the typed rate", "document.querySelector('[data-plan=full]').textContent === '500' && document.querySelector('[data-plan=first]').textContent === '50'")
	p.Write("#why", "mended")
	p.Click("#start button[type=submit]")
	p.Shows("It was started")
	p.Until("it shows the canary", "document.querySelector('#stage')?.textContent.includes('canary')")
	loads := eval[float64](p, "performance.timeOrigin")
	p.Until("the canary is under way", "document.body?.innerText.includes('5 under way')")
	p.Shows("is out). They go on by themselves once that has changed")
	p.picture("bulk-canary")
	open()
	p.Shows("All of it was delivered")
	p.Until("the bar is full", "document.querySelector('progress').value === 60")
	if again := eval[float64](p, "performance.timeOrigin"); again != loads {
		t.Error("the page was loaded anew")
	}
	p.quiet()
}

func TestBulkThatFailsStopsBeforeTheEyes(t *testing.T) {
	f := setup(t)
	all := f.reviewable(40)
	var broken atomic.Bool
	f.lanes.follow(func(i *dlq.Item) (dlq.Round, error) {
		if broken.Load() {
			return fails(i), nil
		}
		return dlq.Round{Blocked: i.PendingTargets}, nil
	})
	b := f.start(100)
	p := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	other := f.open(look{as: "dev-security"}, "/replays")
	other.Shows("running: canary")
	p.Until("the canary is under way", "document.body?.innerText.includes('5 under way')")
	broken.Store(true)
	p.Shows("It stopped by itself")
	p.Shows("100 % of")
	other.Shows("stopped")
	p.Until("what failed is named", fmt.Sprintf("document.body?.innerText.includes(%q)", all[0].ID))
	f.eventually("it has settled", func() bool { return f.bulks()[0].Replaying == 0 })
	p.Until("all that was under way is told", "!document.body.innerText.includes('under way')")
	f.everyLook("bulk-stopped", "dev-operator", "/replays/"+b.ID)
	p.Click("a[href*='replays/new?ids=']")
	p.Shows("5 dead letters are replayed")
	p.quiet()
	other.quiet()
}

func TestBulkIsCancelledInPlace(t *testing.T) {
	f := setup(t)
	f.reviewable(50)
	open := f.gate()
	b := f.start(100)
	p := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	other := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	p.Until("the canary is under way", "document.body?.innerText.includes('5 under way')")
	p.Click("#act-cancel summary")
	p.Shows("45 dead letters that were not asked for stay as they are")
	p.Write("#reason-cancel", "the wrong <filter>")
	f.everyLook("bulk-running", "dev-operator", "/replays/"+b.ID)
	p.Click("#act-cancel button[type=submit]")
	p.Shows("It is cancelled")
	other.Shows("dev-operator cancelled it: the wrong <filter>")
	open()
	p.Shows("5 delivered")
	p.Until("nothing is under way", "!document.body.innerText.includes('under way')")
	if got := f.bulks()[0]; got.State != dlq.BulkCancelled || got.Waiting != 45 {
		t.Errorf("%s with %d waiting", got.State, got.Waiting)
	}
	p.quiet()
}

func TestBulkOutlivesReloadAndRestart(t *testing.T) {
	f := setup(t)
	f.reviewable(120)
	b := f.start(60)
	p := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	p.Until("some are delivered", "document.querySelector('progress').value > 5")
	p.goTo("/replays/" + b.ID)
	p.Until("the bar goes on", "document.querySelector('progress').value > 5")
	f.restart()
	p.Shows("All of it was delivered")
	if got := f.bulks()[0]; got.Delivered != 120 {
		t.Errorf("%d delivered, want 120", got.Delivered)
	}
}

func TestTypedReasonSurvivesProgress(t *testing.T) {
	f := setup(t)
	f.reviewable(30)
	open := f.gate()
	b := f.start(100)
	p := f.open(look{as: "dev-operator"}, "/replays/"+b.ID)
	p.Until("the canary is under way", "document.body?.innerText.includes('5 under way')")
	p.Click("#act-cancel summary")
	p.Write("#reason-cancel", "half a sen")
	for _, i := range f.unended() { // each is a change that the page follows
		_, err := f.queue.End(t.Context(), i, dlq.Result{Acked: i.PendingTargets})
		f.must(err)
		break
	}
	p.Shows("1 delivered")
	if got := eval[string](p, "document.querySelector('#reason-cancel').value"); got != "half a sen" {
		t.Errorf("what was typed is %q", got)
	}
	if !eval[bool](p, "document.querySelector('#act-cancel').open") {
		t.Error("the form was closed")
	}
	open()
	p.Shows("All of it was delivered")
	p.quiet()
}

// unended are the dead letters that a bulk replay asked for.
func (f *fixture) unended() []*dlq.Item {
	f.t.Helper()
	p, err := f.queue.List(f.t.Context(), dlq.Filter{}, dlq.Page{})
	f.must(err)
	var out []*dlq.Item
	for _, i := range p.Items {
		if i.Replaying != nil {
			out = append(out, f.item(i.ID))
		}
	}
	return out
}

func TestScreensOfBulkReplays(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.everyLook("bulks-empty", "dev-operator", "/replays")
	f.everyLook("bulks-barred", "dev-viewer", "/replays")
	f.everyLook("bulknew-choose", "dev-operator", "/replays/new")
	f.everyLook("bulknew-nothing", "dev-operator", "/replays/new?outbox=nowhere")
	hostile := []string{"a/b%2F<script>alert(1)</script>", "\u202etxet esrever\u2066 \u0000\u0007", strings.Repeat("long", 200), `"'&;--`}
	for n, name := range hostile {
		f.die("orgOutbox", "SkillRecognitionGranted", name, int64(n), func(i *dlq.Item) {
			i.EventType = "Granted" + name
			i.Errors[2].Message = strings.Repeat(name, 3)
		})
	}
	f.reviewable(8)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.everyLook("bulknew", "dev-operator", "/replays/new?open=true")
	p := f.open(look{as: "dev-operator", scriptless: true}, "/replays/new?open=true")
	p.Shows("12 dead letters are replayed")
	p.Shows("‹U+202E›txet")
	p.Shows("SECURITY_BLOCK: each of these is decided by itself")
	b := f.start(1000)
	_, err := f.queue.StartBulk(t.Context(), dlq.BulkRequest{
		Filter: dlq.Filter{AggregateID: hostile[0]}, Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: strings.Join(hostile[:2], " "),
	})
	f.must(err)
	f.eventually("they are done", func() bool { return f.bulks()[0].State == dlq.BulkDone && f.bulks()[1].State == dlq.BulkDone })
	f.everyLook("bulks", "dev-operator", "/replays")
	f.everyLook("bulk-done", "dev-operator", "/replays/"+url.PathEscape(b.ID))
}
