package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// laneNamed changes how a lane does.
func (s *status) laneNamed(lane contracts.Lane, change func(*admin.LaneStatus)) {
	s.set(func(s *status) {
		for n := range s.lanes {
			if s.lanes[n].Lane == lane {
				change(&s.lanes[n])
			}
		}
	})
}

// outboxNamed changes how an outbox does.
func (s *status) outboxNamed(name string, change func(*admin.OutboxStatus)) {
	s.set(func(s *status) {
		for n := range s.outboxes {
			if s.outboxes[n].Outbox == name {
				change(&s.outboxes[n])
			}
		}
	})
}

// targetNamed changes how a target does.
func (s *status) targetNamed(name string, change func(*admin.TargetStatus)) {
	s.set(func(s *status) {
		for n := range s.targets {
			if s.targets[n].Target == name {
				change(&s.targets[n])
			}
		}
	})
}

// away makes Firestore refuse everything.
func (f *fixture) away() (back func()) {
	return f.server.Faults().Add(localfirestore.Fault{Code: codes.PermissionDenied})
}

// spoil makes everything wrong that can be at once.
func (f *fixture) spoil() {
	f.t.Helper()
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.die("accOutbox", "WalletDeducted", "acc-2", 1, func(i *dlq.Item) { i.DeadAt = i.DeadAt.Add(-3 * time.Hour) })
	f.die("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	_, err := f.queue.SetLane(f.t.Context(), contracts.BackgroundLane, true, dlq.Actor{Name: "alice@example.com", Role: dlq.Operator}, "the consumer is being moved")
	f.must(err)
	f.status.laneNamed(contracts.BackgroundLane, func(l *admin.LaneStatus) { l.PausedHere, l.Queued = true, 1204 })
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) {
		l.P50, l.P99, l.Queued, l.InFlight, l.Overdue, l.Breaches, l.Oldest = 80*time.Millisecond, 2300*time.Millisecond, 40, 8, 12, 340, time.Now().Add(-4*time.Second)
	})
	f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) {
		t.State, t.Reason, t.Error, t.Failures, t.Since = "open", "Unavailable", "publish: try later", 7, time.Now().Add(-5*time.Minute)
		t.Waiting = []admin.TargetWaiting{{Outbox: "schedOutbox", Records: 3}, {Outbox: "wsOutbox", Records: 1532}}
	})
	f.status.outboxNamed("orgOutbox", func(o *admin.OutboxStatus) { o.Lease, o.Owner, o.Here, o.Listeners = "expired", "relay-0", false, nil })
	f.status.outboxNamed("skillOutbox", func(o *admin.OutboxStatus) {
		o.Ready = false
		o.Listeners[0].State, o.Listeners[0].LastReason, o.Listeners[0].Rebuilds = "rebuilding", "silent", 2
	})
	f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Pending, o.LeftBehind, o.InMemory = new(int64(1600)), 1532, 60 })
}

// overview waits until the counts on the overview are those of now.
func (f *fixture) overview(p *person, says string) string {
	f.t.Helper()
	var text string
	f.eventually("the overview says "+says, func() bool {
		_, text = p.get("/")
		return strings.Contains(text, says)
	})
	return text
}

func TestOverviewOfWhatIsWell(t *testing.T) {
	f := setup(t)
	status, page := f.person("dev-viewer").get("/")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, page)
	}
	for _, want := range []string{"Nothing is wrong.", "CRITICAL_LANE", "FUNNEL_CRITICAL", "wsOutbox", "SECURITY_BLOCK", "relay-1", "No aggregate is frozen", "9 ms"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, `class="sheet wrong"`) || strings.Contains(page, `class="sheet doubt"`) {
		t.Error("something is called wrong")
	}
}

// TestOverviewSaysWhoseFiguresItHas: where instances share the outboxes, one of them has
// nothing to tell of a target that is out for another alone, so it does not call all well.
func TestOverviewSaysWhoseFiguresItHas(t *testing.T) {
	f := setup(t)
	f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Owner, o.Here, o.Listeners = "relay-2", false, nil })
	_, page := f.person("dev-viewer").get("/")
	for _, want := range []string{
		"Nothing is wrong, as far as instance relay-1 knows.", "and relay-1 delivers within its SLA", "and every target answers relay-1 (",
		"Others relay 1 of 6 outboxes: the metrics tell how they do", "As instance relay-1 finds them; the others have breakers of their own.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) { t.State, t.Reason = "open", "Unavailable" })
	if _, page = f.person("dev-viewer").get("/"); !strings.Contains(page, "Others relay 1 of 6 outboxes") {
		t.Error("beside a trouble of its own it does not say that others have theirs")
	}
}

// TestOverviewCountsOutboxesAndTheirShards: a shard is no outbox, and has the number that
// its records, the API and the table below say.
func TestOverviewCountsOutboxesAndTheirShards(t *testing.T) {
	f := setup(t)
	f.status.set(func(s *status) {
		ours := s.outboxes[0]
		ours.Shards = 2
		theirs := ours
		theirs.Shard, theirs.Owner, theirs.Here, theirs.Listeners = 1, "relay-2", false, nil
		s.outboxes = []admin.OutboxStatus{ours, theirs, s.outboxes[1]}
	})
	_, page := f.person("dev-viewer").get("/")
	for _, want := range []string{"Others relay 1 of 3 shards of 2 outboxes: the metrics tell how they do", "Every outbox is listened to (2 outboxes in 3 shards)", "shard 1 of 2"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	f.status.set(func(s *status) { s.outboxes[1].Lease, s.outboxes[1].Owner = "free", "" })
	_, page = f.person("dev-viewer").get("/")
	if want := "Nobody relays " + f.catalog.Outboxes[0].Name + " (shard 1 of 2)."; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
}

// TestOverviewTellsEachTrouble: each is told in words, with what to do.
func TestOverviewTellsEachTrouble(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(f *fixture)
		says  string
		do    string
		wrong bool
	}{
		{"blocked", func(f *fixture) { f.die("accOutbox", "RoleChanged", "a", 1) }, "1 SECURITY_BLOCK dead letter waits for an authorization", "?state=blocked&amp;tier=SECURITY_BLOCK", true},
		{"frozen", func(f *fixture) { f.die("accOutbox", "RoleChanged", "a", 1) }, "1 aggregate is frozen", "/console/freezes", true},
		{"two are frozen", func(f *fixture) {
			f.die("accOutbox", "RoleChanged", "a", 1)
			f.die("accOutbox", "RoleChanged", "b", 1)
		}, "2 aggregates are frozen: later records of theirs are held", "that froze them, then release each", true},
		{"review", func(f *fixture) { f.die("accOutbox", "WalletDeducted", "a", 1) }, "1 REVIEW_REQUIRED dead letter waits for a review", "bulk replay", false},
		{"late", func(f *fixture) {
			f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.P99 = 900 * time.Millisecond })
		}, "CRITICAL_LANE misses its SLA: in the last minute one in a hundred took longer than 900 ms", "see whether one is slow", true},
		{"overdue", func(f *fixture) {
			f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.Overdue, l.Waiting = 1, 1 })
		}, "CRITICAL_LANE is late with 1 record", "none counts while their target is out", false},
		{"Firestore takes no commit of an outbox", func(f *fixture) {
			f.unsettled(time.Minute)
		}, "Firestore has taken no commit of wsOutbox: what became of 1,212 records here is not written down", "RelayOutboxUnsettled", false},
		{"Firestore has taken no commit of an outbox for long", func(f *fixture) {
			f.unsettled(6 * time.Minute)
		}, "Firestore has taken no commit of wsOutbox", "do not restart the instance", true},
		{"paused", func(f *fixture) {
			_, err := f.queue.SetLane(f.t.Context(), contracts.StandardLane, true, dlq.Actor{Name: "alice", Role: dlq.Operator}, "maintenance")
			f.must(err)
		}, "STANDARD_LANE is paused by alice: maintenance", "/console/lanes#STANDARD_LANE", false},
		{"a target is out", func(f *fixture) {
			f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) {
				t.State, t.Reason, t.Waiting = "open", "Unavailable", []admin.TargetWaiting{{Outbox: "wsOutbox", Records: 1200}}
			})
		}, "Target FUNNEL does not answer (Unavailable). Records wait for it: 1,200 of wsOutbox", "mend topic ier-funnel-standard", true},
		{"a target is out and nothing waits", func(f *fixture) {
			f.status.targetNamed("CLAIMS_HANDLER", func(t *admin.TargetStatus) { t.State, t.Reason = "open", "Unavailable" })
		}, "Target CLAIMS_HANDLER did not answer when it was tried last (Unavailable). Nothing waits for it here; accOutbox would", "it stays so here until there is a record to probe it with. Else mend what its handler calls", false},
		{"nobody relays", func(f *fixture) {
			f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Lease, o.Owner, o.Here = "free", "", false })
		}, "Nobody relays wsOutbox", "whether an instance runs", true},
		{"a lease is expired", func(f *fixture) {
			f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Lease, o.Owner, o.Here = "expired", "relay-9", false })
		}, "relay-9 does not renew its lease of wsOutbox", "another instance takes it", true},
		{"a lease has lapsed", func(f *fixture) {
			f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Lease = "lapsed" })
		}, "The lease of wsOutbox was not renewed in time", "the log line &#34;renew leases, trying again&#34; says why", true},
		{"another instance's is sick", func(f *fixture) {
			f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) { o.Owner, o.Here, o.Ready, o.Listeners = "relay-2", false, false, nil })
		}, "wsOutbox is not well, says its owner relay-2", "/readyz", true},
		{"a listener is not alive", func(f *fixture) {
			f.status.outboxNamed("wsOutbox", func(o *admin.OutboxStatus) {
				o.Listeners = []admin.ListenerStatus{{Listener: "STANDARD_LANE", State: "rebuilding", LastReason: "silent"}}
			})
		}, "Listener STANDARD_LANE of wsOutbox is rebuilding. It ended for silent", "a sweep finds what it missed", true},
		{"stopping", func(f *fixture) { f.status.set(func(s *status) { s.stopping = true }) }, "The instance that answers, relay-1, is stopping", "a new revision", false},
		{"Firestore is away", func(f *fixture) { f.away() }, "Firestore does not answer", "outbox-relay doctor", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := setup(t)
			tc.spoil(f)
			_, page := f.person("dev-viewer").get("/")
			if !strings.Contains(page, tc.says) || !strings.Contains(page, tc.do) {
				t.Errorf("it does not say %q with %q:\n%.3000s", tc.says, tc.do, page[strings.Index(page, "<main"):])
			}
			if got := strings.Contains(page, `class="sheet wrong"`); got != tc.wrong {
				t.Errorf("something is called wrong: %t, want %t", got, tc.wrong)
			}
			if strings.Contains(page, "<strong>Nothing is wrong.</strong>") {
				t.Error("it says that nothing is wrong")
			}
		})
	}
}

// unsettled has two lanes tell that Firestore takes no commit of wsOutbox, the first
// for some time, the second since now.
func (f *fixture) unsettled(lasts time.Duration) {
	tell := func(lane contracts.Lane, records int, since time.Time) {
		f.status.laneNamed(lane, func(l *admin.LaneStatus) {
			l.Unsettled = []admin.Unsettled{{Outbox: "wsOutbox", Records: records, Since: since}}
		})
	}
	tell(contracts.BackgroundLane, 1200, time.Now())
	tell(contracts.StandardLane, 12, time.Now().Add(-lasts))
}

// A commit that is not answered once is no news on the overview; the lanes tell the figure.
func TestOverviewIsCalmAboutWhatIsTriedAgain(t *testing.T) {
	f := setup(t)
	f.unsettled(0)
	p := f.person("dev-viewer")
	if _, page := p.get("/"); !strings.Contains(page, "<strong>Nothing is wrong.</strong>") {
		t.Error("the overview tells of it at once")
	}
	if _, page := p.get("/lanes"); !strings.Contains(page, "1,200 of wsOutbox: Firestore has taken no commit of it") {
		t.Error("the lanes do not tell of it")
	}
}

// TestOverviewWithoutFirestore: what memory knows is shown all the same.
func TestOverviewWithoutFirestore(t *testing.T) {
	f := setup(t)
	f.status.laneNamed(contracts.BackgroundLane, func(l *admin.LaneStatus) {
		l.PausedHere, l.PausedBy, l.PauseReason = true, "alice", "maintenance"
	})
	back := f.away()
	p := f.person("dev-viewer")
	status, page := p.get("/")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{"How many there are is not known", "BACKGROUND_LANE is paused by alice: maintenance", "FUNNEL_CRITICAL", "9 ms"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	back()
	// Dead letters and lanes are each read again when their own last failure is old enough.
	f.eventually("the page knows everything again", func() bool {
		_, page := p.get("/")
		return strings.Contains(page, "No aggregate is frozen") && !strings.Contains(page, "Firestore does not answer")
	})
}

func TestOverviewFollowsWithoutAReload(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-viewer"}, "/")
	p.Shows("Nothing is wrong.")
	eval[bool](p, "(window.mark = 1, true)")
	f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) { t.State, t.Reason = "open", "Unavailable" })
	p.Shows("Target FUNNEL did not answer")
	f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) { t.State, t.Reason = "closed", "" })
	p.Shows("Nothing is wrong.")
	if !eval[bool](p, "window.mark === 1") {
		t.Error("the page was loaded again")
	}
	p.quiet()
}

func TestOverviewDrawsLines(t *testing.T) {
	f := setup(t)
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.Received, l.Delivered = 100, 100 })
	p := f.open(look{as: "dev-viewer"}, "/")
	p.Until("six charts are drawn", "document.querySelectorAll('.charts canvas').length === 6")
	p.Until("a line tells its lane's lag", `document.querySelector('[data-lane=CRITICAL_LANE] [data-of=lag]').getAttribute('aria-label').includes('p99 9 ms')`)
	eval[bool](p, "(window.canvas = document.querySelector('.charts canvas'), true)")
	p.Hears()
	p.Until("the lines are still the same", "window.canvas.isConnected && document.querySelectorAll('.charts canvas').length === 6")
	p.quiet()
}

func TestRatesAreTheLastMinutes(t *testing.T) {
	f := setup(t)
	p := f.person("dev-viewer")
	f.overview(p, "0/s") // two samples
	f.status.laneNamed(contracts.CriticalLane, func(l *admin.LaneStatus) { l.Received, l.Delivered = l.Received+100_000, l.Delivered+100_000 })
	f.eventually("a rate is told", func() bool {
		_, page := p.get("/")
		_, rest, _ := strings.Cut(page, "<dt>In</dt><dd>")
		rate, _, _ := strings.Cut(rest, "<")
		return strings.HasSuffix(rate, "/s") && rate != "0/s"
	})
}

func TestChartIsForViewers(t *testing.T) {
	f := setup(t)
	status, body := f.person("dev-viewer").get("/chart")
	if status != http.StatusOK || !strings.Contains(body, `"lane":"CRITICAL_LANE","slaMillis":500`) {
		t.Errorf("status %d: %.300s", status, body)
	}
	p := f.person("nobody-known")
	if status, _ := p.get("/chart"); status != http.StatusUnauthorized {
		t.Errorf("a stranger gets status %d", status)
	}
}

func TestOverviewLooksWell(t *testing.T) {
	f := setup(t)
	p := f.open(look{as: "dev-viewer"}, "/")
	p.Until("lines are drawn", "document.querySelectorAll('.charts canvas').length === 6")
	p.looksWell("overview, well", looks...)
	p.quiet()
}

func TestOverviewLooks(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.spoil()
	for _, width := range []int64{390, 800, 1920} { // lines are drawn for the window in which it is loaded
		p := f.open(look{as: "dev-operator", width: width, height: 1000}, "/")
		p.Until("lines are drawn", "document.querySelectorAll('.charts canvas').length === 6")
		p.looksWell("overview, wrong", themes(width)...)
		p.quiet()
		p.close()
	}
	plain := f.open(look{as: "dev-operator", width: 390, height: 1000, scriptless: true}, "/")
	plain.picture("overview-wrong-390-scriptless")
}

func TestOverviewLooksWithoutFirestore(t *testing.T) {
	f := setup(t)
	f.away()
	p := f.open(look{as: "dev-operator"}, "/")
	p.Shows("Firestore does not answer")
	p.picture("overview-away")
	p.sideways()
	p.accessible("overview, Firestore away")
	p.quiet()
}

// The code of an outage says neither which topic is missing nor which permission.
func TestTargetsTellWhyTheyAreOut(t *testing.T) {
	f := setup(t)
	f.status.targetNamed("FUNNEL", func(t *admin.TargetStatus) {
		t.State, t.Reason, t.Error, t.Failures = "open", "NotFound", "publish: topic ier-funnel-standard <does not exist>", 7
	})
	f.overview(f.person("dev-viewer"), "NotFound, 7 times in a row")
	f.overview(f.person("dev-viewer"), "publish: topic ier-funnel-standard &lt;does not exist&gt;")
}
