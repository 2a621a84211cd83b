package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// obey has the instance obey what stands in Firestore, as a relay does.
func (f *fixture) obey() {
	f.t.Helper()
	controls, err := f.queue.LaneControls(f.t.Context())
	f.must(err)
	for lane, c := range controls {
		f.status.laneNamed(lane, func(l *admin.LaneStatus) {
			l.PausedHere, l.PausedBy, l.PausedAt, l.PauseReason = c.Paused, c.By, c.At, c.Reason
		})
	}
}

func (f *fixture) control(lane contracts.Lane) dlq.LaneControl {
	f.t.Helper()
	controls, err := f.queue.LaneControls(f.t.Context())
	f.must(err)
	return controls[lane]
}

func TestLanesTellAllOfEach(t *testing.T) {
	f := setup(t)
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) {
		l.Queued, l.InFlight, l.Waiting, l.Received, l.Breaches = 1200, 3, 4, 5000, 7
	})
	status, page := f.person("dev-viewer").get("/lanes")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{
		"1,200 queued, 3 in delivery, 4 for a retry", "5,000 taken in, 1,000 delivered", "7 of 1,000 later than the SLA", "p99 9 ms", "the SLA is 500 ms",
		"accOutbox, orgOutbox", "CLAIMS_HANDLER", "relay-1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestLaneIsPausedWithoutScripts(t *testing.T) {
	f := setup(t)
	p := f.person("dev-operator")
	status, page := p.post("/lanes/BACKGROUND_LANE/pause", url.Values{"act": {"pause-background_lane"}, "back": {"/console/lanes"}, "reason": {"the consumer is being moved"}})
	if status != http.StatusOK || !strings.Contains(page, "BACKGROUND_LANE is paused, on all instances") || !strings.Contains(page, "the consumer is being moved") {
		t.Errorf("status %d: %s", status, page)
	}
	if c := f.control(contracts.BackgroundLane); !c.Paused || c.By != "dev-operator" || c.Reason != "the consumer is being moved" {
		t.Errorf("got %+v", c)
	}
	other := f.person("dev-security")
	_, page = other.post("/lanes/BACKGROUND_LANE/pause", url.Values{"reason": {"again"}})
	if !strings.Contains(page, "was paused already, by dev-operator") {
		t.Error("who was slower is not told who was faster")
	}
	if c := f.control(contracts.BackgroundLane); c.Reason != "the consumer is being moved" {
		t.Errorf("the slower one changed it: %+v", c)
	}
	_, page = other.post("/lanes/BACKGROUND_LANE/resume", url.Values{"reason": {"moved"}})
	if !strings.Contains(page, "BACKGROUND_LANE is resumed, on all instances") || f.control(contracts.BackgroundLane).Paused {
		t.Error("it is not resumed")
	}
	audit, err := f.queue.Audit(t.Context(), dlq.AuditFilter{On: "BACKGROUND_LANE"}, dlq.Page{})
	if err != nil || len(audit.Items) != 2 {
		t.Errorf("%d audit entries (%v), want 2", len(audit.Items), err)
	}
	if _, page = p.get("/lanes?done=pause-background_lane"); strings.Contains(page, "is paused, on all instances") {
		t.Error("an old link tells of what is not so any more")
	}
}

func TestLaneRefusals(t *testing.T) {
	f := setup(t)
	viewer := f.person("dev-viewer")
	_, page := viewer.get("/lanes")
	if !strings.Contains(page, `<button type="button" disabled aria-describedby="why-pause-critical_lane">Pause CRITICAL_LANE</button>`) || !strings.Contains(page, "this needs the role operator, and you have viewer") {
		t.Error("a viewer does not see what is not for viewers, and why")
	}
	for _, tc := range []struct {
		name, as, lane, reason string
		status                 int
		says                   string
	}{
		{"a viewer", "dev-viewer", "CRITICAL_LANE", "because", http.StatusForbidden, "needs the role operator"},
		{"no such lane", "dev-operator", "FAST_LANE", "because", http.StatusNotFound, "there is no lane"},
		{"a long reason", "dev-operator", "CRITICAL_LANE", strings.Repeat("x", 1001), http.StatusUnprocessableEntity, "1000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, page := f.person(tc.as).post("/lanes/"+tc.lane+"/pause", url.Values{"act": {"pause-" + strings.ToLower(tc.lane)}, "back": {"/console/lanes"}, "reason": {tc.reason}})
			if status != tc.status || !strings.Contains(page, tc.says) {
				t.Errorf("got %d, want %d that says %q", status, tc.status, tc.says)
			}
			if tc.as == "dev-operator" && tc.lane == "CRITICAL_LANE" && !strings.Contains(page, tc.reason+"</textarea>") {
				t.Error("what was typed is lost")
			}
		})
	}
	if f.control(contracts.CriticalLane).Paused {
		t.Error("it is paused all the same")
	}
}

// TestLaneIsPausedAndResumedByClicks: one does it, and another sees it at once.
func TestLaneIsPausedAndResumedByClicks(t *testing.T) {
	f := setup(t)
	f.status.laneNamed(contracts.StandardLane, func(l *admin.LaneStatus) { l.Queued, l.InFlight = 12, 2 })
	one, other := f.open(look{as: "dev-operator"}, "/lanes"), f.open(look{as: "dev-viewer"}, "/lanes")
	eval[bool](other, "(window.mark = 1, true)")
	one.Click("#act-pause-standard_lane summary")
	one.Shows("The 12 that this instance holds wait")
	one.Shows("2 records that are in delivery here are delivered to the end")
	one.Shows("outbox-relay lanes pause STANDARD_LANE")
	one.Write("#reason-pause-standard_lane", "the topic is being moved")
	one.Click("#act-pause-standard_lane button[type=submit]")
	one.Shows("STANDARD_LANE is paused, on all instances")
	other.Shows("the topic is being moved")
	other.Shows("Paused by dev-operator")
	f.obey()
	one.Until("it can be resumed", "document.querySelector('#act-resume-standard_lane')")
	one.Click("#act-resume-standard_lane summary")
	one.Click("#act-resume-standard_lane button[type=submit]")
	one.Shows("STANDARD_LANE is resumed, on all instances")
	other.Until("the other sees it run", "!document.body.innerText.includes('Paused by dev-operator')")
	if !eval[bool](other, "window.mark === 1") {
		t.Error("the page was loaded again")
	}
	if f.control(contracts.StandardLane).Paused {
		t.Error("it is paused still")
	}
	one.quiet()
	other.quiet()
}

// TestReasonSurvivesWhatOthersDo: the page changes under what somebody types.
func TestReasonSurvivesWhatOthersDo(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-operator"}, "/lanes")
	p.Click("#act-pause-standard_lane summary")
	p.Write("#reason-pause-standard_lane", "half a sent")
	_, err := f.queue.SetLane(t.Context(), contracts.CriticalLane, true, dlq.Actor{Name: "alice", Role: dlq.Operator}, "maintenance")
	f.must(err)
	f.obey()
	p.Shows("Paused by alice")
	p.Write("#reason-pause-standard_lane", "ence")
	if got := eval[string](p, "document.querySelector('#reason-pause-standard_lane').value"); got != "half a sentence" {
		t.Errorf("got %q", got)
	}
	if !eval[bool](p, "document.querySelector('#act-pause-standard_lane').open") {
		t.Error("the form was closed")
	}
	p.quiet()
}

func TestLaneIsPausedByKeyboardAlone(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-operator"}, "/lanes")
	eval[bool](p, "(document.querySelector('#act-pause-background_lane summary').focus(), true)")
	p.Run(chromedp.KeyEvent("\r"))
	p.Until("the form is open", "document.querySelector('#act-pause-background_lane').open")
	p.Run(chromedp.KeyEvent("\t"))
	p.Run(chromedp.KeyEvent("m"))
	p.Run(chromedp.KeyEvent("\t"))
	p.Run(chromedp.KeyEvent("\r"))
	p.Shows("BACKGROUND_LANE is paused, on all instances")
	if c := f.control(contracts.BackgroundLane); c.Reason != "m" {
		t.Errorf("the reason is %q", c.Reason)
	}
	p.quiet()
}

func TestHostilePauseReasonIsShownAsText(t *testing.T) {
	f := setup(t)
	reason := "<script>alert(1)</script>\u202egnp.exe " + strings.Repeat("w", 800)
	_, err := f.queue.SetLane(t.Context(), contracts.CriticalLane, true, dlq.Actor{Name: `"><img src=x onerror=alert(1)>`, Role: dlq.Operator}, reason)
	f.must(err)
	f.obey()
	for _, path := range []string{"/lanes", "/"} {
		p := f.open(look{as: "dev-operator", width: 390, height: 844}, path)
		p.Shows("<script>alert(1)</script>‹U+202E›gnp.exe")
		p.sideways()
		p.accessible("a hostile reason on " + path)
		p.quiet()
	}
}

func TestLanesLook(t *testing.T) {
	f := setup(t)
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.P99, l.Breaches, l.Queued, l.Overdue = 2300e6, 40, 1200, 3 })
	_, err := f.queue.SetLane(t.Context(), contracts.BackgroundLane, true, dlq.Actor{Name: "alice@example.com", Role: dlq.Operator}, "the consumer is being moved")
	f.must(err)
	f.obey()
	p := f.open(look{as: "dev-operator"}, "/lanes")
	p.Click("#act-pause-critical_lane summary")
	p.looksWell("lanes", looks...)
	p.quiet()
	p.close()
	p = f.open(look{as: "dev-viewer"}, "/lanes")
	p.picture("lanes-viewer")
	p.accessible("lanes, viewer")
}
