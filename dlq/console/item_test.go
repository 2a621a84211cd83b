package console_test

import (
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

func itemPath(i *dlq.Item) string { return "/dlq/" + url.PathEscape(i.ID) }

// itemForm is the form of an action as the page has it, with a reason.
func itemForm(page, action, reason string) url.Values {
	form := url.Values{"act": {action}, "reason": {reason}}
	for _, name := range []string{"etag", "back"} {
		if found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page); found != nil {
			form.Set(name, html.UnescapeString(found[1]))
		}
	}
	return form
}

// plain is what a page says, without its markup.
func plain(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// decisions counts the audit entries of an action about a dead letter.
func (f *fixture) decisions(id, action string) int {
	f.t.Helper()
	page, err := f.queue.Audit(f.t.Context(), dlq.AuditFilter{On: id, Action: action}, dlq.Page{})
	f.must(err)
	return len(page.Items)
}

func (f *fixture) decide(i *dlq.Item, action dlq.Action, who string, role dlq.Role) {
	f.t.Helper()
	_, err := f.queue.Decide(f.t.Context(), i.ID, dlq.Decide{Action: action, Actor: dlq.Actor{Name: who, Role: role}, Reason: "because of " + who})
	f.must(err)
}

// A record may break its contract in several ways at once: its row and its story tell all.
func TestRowAndStoryTellEveryFault(t *testing.T) {
	f := setup(t)
	i := f.letter("accOutbox", "WalletDeducted", "acc-1", 1, func(i *dlq.Item) {
		i.Reason, i.Errors = contracts.ContractViolation, nil
		for _, message := range []string{"traceId is missing", "payload is missing"} {
			i.Errors = append(i.Errors, contracts.AttemptError{At: i.DeadAt, Code: string(contracts.ContractViolation), Message: message})
		}
	})
	f.bury(i)
	viewer := f.person("dev-viewer")
	for path, want := range map[string]string{
		"/dlq":      "traceId is missing; payload is missing",
		itemPath(i): "breaks its contract (CONTRACT_VIOLATION: traceId is missing; payload is missing) and was never attempted",
	} {
		if _, page := viewer.get(path); !strings.Contains(plain(page), want) {
			t.Errorf("%s: %q does not tell %q", path, plain(page), want)
		}
	}
}

// 0 is a version that a record may have: one without a sound one is shown with none.
func TestALetterWithoutAVersionIsShownWithNone(t *testing.T) {
	f := setup(t)
	i := f.letter("accOutbox", "WalletDeducted", "acc-1", 0, func(i *dlq.Item) { i.Versionless = true })
	f.bury(i)
	viewer := f.person("dev-operator")
	for path, want := range map[string]string{
		"/dlq":                        "acc-1 no version",
		itemPath(i):                   "WalletDeducted of acc-1 (no version)",
		"/trace?eventId=" + i.EventID: "acc-1 no version",
	} {
		if _, page := viewer.get(path); !strings.Contains(plain(page), want) {
			t.Errorf("%s: %q does not tell %q", path, plain(page), want)
		}
	}
}

func TestItemTellsItsStory(t *testing.T) {
	f := setup(t)
	viewer := f.person("dev-viewer")
	for _, tt := range []struct {
		name string
		item *dlq.Item
		want []string
	}{
		{"review", f.die("accOutbox", "WalletDeducted", "story-1", 3), []string{
			"WalletDeducted of story-1 (version 3) failed three times at FUNNEL_CRITICAL with Internal: the topic refuses the message, and has been waiting since",
			"for somebody to decide.",
		}},
		{"never attempted", f.die("accOutbox", "WalletDeducted", "story-2", 1, func(i *dlq.Item) {
			i.Reason, i.Attempts = contracts.ContractViolation, 0
			i.Errors = []contracts.AttemptError{{At: i.DeadAt, Code: "ContractViolation", Message: "amount is missing"}}
		}), []string{"breaks its contract (ContractViolation: amount is missing) and was never attempted, and has been waiting since"}},
		{"refused for good", f.die("accOutbox", "WalletDeducted", "story-3", 1, func(i *dlq.Item) {
			i.Reason, i.Attempts, i.Errors = contracts.PermanentFailure, 1, i.Errors[:1]
		}), []string{"was refused for good at FUNNEL_CRITICAL with Internal: the topic refuses the message"}},
		{"claims", f.die("accOutbox", "RoleChanged", "story-4", 1, func(i *dlq.Item) { i.Reason = contracts.ClaimsRefreshFailed }), []string{
			"could not refresh the claims of its account: it failed three times at CLAIMS_HANDLER", "for the role security to decide.", "story-4 is frozen since",
		}},
		{"scheduled", f.die("accOutbox", "AccountCreated", "story-5", 1), []string{"failed three times at FUNNEL with Internal", ", and is replayed by itself at", "0 of 5 automatic ones"}},
		{"exhausted", f.die("accOutbox", "AccountCreated", "story-6", 1, func(i *dlq.Item) {
			i.Tier, i.State, i.Replays, i.NextReplayAt = contracts.ReviewRequired, contracts.DeadAwaitingReview, 5, time.Time{}
			i.Decisions = []dlq.Decision{{ID: "x", Action: dlq.Exhausted, By: "relay", At: i.DeadAt.Add(time.Minute), Reason: "no"}}
		}), []string{"; 5 replays of it failed too, and has been waiting since", "REVIEW_REQUIRED, first SAFE_AUTO"}},
		{"without an aggregate", f.die("accOutbox", "WalletDeducted", "", 0), []string{"WalletDeducted, which belongs to no aggregate, failed three times"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, page := viewer.get(itemPath(tt.item))
			text := plain(page)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("status %d; %q is not in %.1500s", status, want, text)
				}
			}
		})
	}
	if status, page := viewer.get("/dlq/none"); status != http.StatusNotFound || !strings.Contains(page, "there is no dead letter") {
		t.Errorf("status %d for one that is not there", status)
	}
}

// TestItemsNamedAsOperations: what the API has beside dead letters hides none of them.
func TestItemsNamedAsOperations(t *testing.T) {
	f := setup(t)
	operator := f.person("dev-operator")
	for _, id := range []string{"groups", "count", "named", "summary", "%67roups"} {
		i := f.die("accOutbox", "WalletDeducted", "acc-"+id, 1, func(i *dlq.Item) { i.ID = dlq.ID(id) })
		path := "/dlq/" + url.PathEscape(dlq.LetterName(i.ID))
		if _, list := operator.get("/dlq"); !strings.Contains(list, `href="/console`+path+`"`) {
			t.Errorf("the list has no link to %s", path)
		}
		_, page := operator.get(path)
		if !strings.Contains(plain(page), "WalletDeducted of acc-"+id) || !strings.Contains(page, `action="/console`+path+`/notes"`) {
			t.Errorf("%s shows %.600s", path, plain(page))
		}
		if status, after := operator.post(path+"/notes", itemForm(page, "note", "seen")); status >= 300 || f.decisions(i.ID, "note") != 1 {
			t.Errorf("%s: got status %d: %.600s", path, status, plain(after))
		}
	}
	if _, page := operator.get("/dlq/groups"); !strings.Contains(plain(page), "WalletDeducted of acc-groups") {
		t.Errorf("its ID as it is shows %.600s", plain(page))
	}
}

func TestItemStoryGoesOn(t *testing.T) {
	f := setup(t)
	viewer := f.person("dev-viewer")
	given := f.die("accOutbox", "WalletDeducted", "on-1", 1)
	f.decide(given, dlq.Discard, "otto", dlq.Operator)
	delivered := f.die("accOutbox", "WalletDeducted", "on-2", 1)
	f.decide(delivered, dlq.Replay, "otto", dlq.Operator)
	allowed := f.die("accOutbox", "RoleChanged", "on-3", 1)
	f.decide(allowed, dlq.Authorize, "sara", dlq.Security)
	f.eventually("the replay ended", func() bool { return f.item(delivered.ID).State == contracts.DeadReplayed })
	for item, want := range map[*dlq.Item]string{
		given: "and was given up by otto at", delivered: "and a replay delivered it to every target at", allowed: "and waits for somebody to replay it, as sara has allowed at",
	} {
		if _, page := viewer.get(itemPath(item)); !strings.Contains(plain(page), want) {
			t.Errorf("%q is not in %.800s", want, plain(page))
		}
	}
}

// barred finds why an action cannot be taken on a page; "" for one that can, or that is not there.
func barred(page, action string) string {
	found := regexp.MustCompile(`(?s)<p id="why-` + action + `"[^>]*>(.*?)</p>`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// TestItemSaysWhoMay compares what each role sees with what the server then does.
func TestItemSaysWhoMay(t *testing.T) {
	f := setup(t)
	f.lanes.follow(func(i *dlq.Item) (dlq.Round, error) { // what is asked for stays asked for
		return dlq.Round{Blocked: i.PendingTargets, Missing: i.PendingTargets}, nil
	})
	paths := map[string]string{"replay": "replay", "authorize": "authorize", "withdraw": "withdraw", "discard": "discard", "note": "notes", "uncover": "uncover"}
	for _, tt := range []struct {
		kind      string
		eventType string
		who       string
		want      map[string]string // part of why not; "" for what may be done; left out: it is not offered
	}{
		{"review", "WalletDeducted", "dev-viewer", map[string]string{"replay": "needs the role operator, and dev-viewer has viewer: ask someone", "discard": "the role operator", "note": "the role operator"}},
		{"review", "WalletDeducted", "dev-operator", map[string]string{"replay": "", "discard": "", "note": ""}},
		{"safe", "AccountCreated", "dev-viewer", map[string]string{"replay": "the role operator", "discard": "it is replayed by itself", "note": "the role operator"}},
		{"safe", "AccountCreated", "dev-operator", map[string]string{"replay": "", "discard": "it is replayed by itself", "note": ""}},
		{"blocked", "RoleChanged", "dev-viewer", map[string]string{"replay": "the role operator", "authorize": "the role security", "withdraw": "the role security", "discard": "the role security", "note": "the role operator", "uncover": "the role security, and you have viewer"}},
		{"blocked", "RoleChanged", "dev-operator", map[string]string{"replay": "not authorized", "authorize": "the role security", "withdraw": "the role security", "discard": "the role security", "note": "", "uncover": "the role security, and you have operator"}},
		{"blocked", "RoleChanged", "dev-security", map[string]string{"replay": "not authorized", "authorize": "", "withdraw": "nothing to withdraw", "discard": "", "note": "", "uncover": ""}},
		{"asked", "WalletDeducted", "dev-viewer", map[string]string{"replay": "the role operator", "withdraw": "the role operator", "discard": "the role operator", "note": "the role operator"}},
		{"asked", "WalletDeducted", "dev-operator", map[string]string{"replay": "has not ended", "withdraw": "", "discard": "", "note": ""}},
	} {
		for action, path := range paths {
			p, item := f.person(tt.who), f.die("accOutbox", tt.eventType, "who-"+tt.kind+tt.who+action, 1)
			if tt.kind == "asked" {
				f.decide(item, dlq.Replay, "otto", dlq.Operator)
			}
			_, page := p.get(itemPath(item))
			why, offered := tt.want[action]
			if open := strings.Contains(page, `id="act-`+action+`"`); open != (offered && why == "") {
				t.Errorf("%s of %s by %s: the form is there: %t", action, tt.kind, tt.who, open)
			}
			if got := barred(page, action); !strings.Contains(got, why) || (got == "") != (why == "") {
				t.Errorf("%s of %s by %s is barred for %q, want %q", action, tt.kind, tt.who, got, why)
			}
			form := itemForm(page, action, "because")
			form.Set("etag", "*")
			form.Set("back", "/console"+itemPath(item))
			status, after := p.post(itemPath(item)+"/"+path, form)
			if done := status < 300; done != (offered && why == "") {
				t.Errorf("%s of %s by %s: got status %d: %.600s", action, tt.kind, tt.who, status, plain(after))
			}
		}
	}
}

func TestItemSaysWhatWillHappen(t *testing.T) {
	f := setup(t, func(f *fixture) { f.catalog.Outbox("accOutbox").Route("PolicyChanged").TwoPersonRule = true })
	older := f.die("accOutbox", "WalletDeducted", "will-1", 3)
	younger := f.die("accOutbox", "WalletDeducted", "will-1", 4)
	alone := f.die("accOutbox", "WalletDeducted", "will-2", 3)
	two := f.die("accOutbox", "PolicyChanged", "will-3", 1)
	delivered := record(alone)
	delivered["status"], delivered["aggregateVersion"] = string(contracts.Delivered), int64(9)
	_, err := f.store.Commit(t.Context(), []dlq.Write{{Collection: "accOutbox", ID: "later", Op: dlq.OpCreate, Fields: delivered}})
	f.must(err)
	for _, tt := range []struct {
		who  string
		item *dlq.Item
		want []string
	}{
		{"dev-operator", alone, []string{
			"It is delivered to FUNNEL_CRITICAL, the one target that lacks it, through CRITICAL_LANE", "no older dead letter of will-2 is open",
			"One later version of the aggregate was delivered since: its targets see this one after it.", "outbox-relay dlq replay " + alone.ID + " --reason",
			"It is given up for FUNNEL_CRITICAL, the one target that lacks it: no delivery there begins, now or later. This cannot be undone",
		}},
		{"dev-operator", younger, []string{"First in order: 1 older dead letter of will-1.", "version 3 awaiting review", "comes first: replay or discard the older one first"}},
		{"dev-security", two, []string{
			"PolicyChanged asks for two persons: one authorizes its replay, another asks for it.", "who authorizes it cannot ask for its replay", "will-3 is frozen since",
			"overtake the dead letters that are still open", "The audit says that you looked, when, and why, before you see anything.",
		}},
	} {
		_, page := f.person(tt.who).get(itemPath(tt.item))
		for _, want := range tt.want {
			if !strings.Contains(plain(page), want) {
				t.Errorf("%q is not in %.3000s", want, plain(page))
			}
		}
	}
	if _, page := f.person("dev-operator").get(itemPath(younger)); !strings.Contains(page, `href="/console`+itemPath(older)+`"`) {
		t.Error("what comes first is not linked")
	}
	f.decide(two, dlq.Authorize, "dev-security", dlq.Security)
	if _, page := f.person("dev-security").get(itemPath(two)); !strings.Contains(barred(page, "replay"), "asks for two persons: another person replays it") {
		t.Errorf("who authorized it may replay it: %s", barred(page, "replay"))
	}
	if _, page := f.person("dev-security-2").get(itemPath(two)); barred(page, "replay") != "" {
		t.Errorf("another one may not: %s", barred(page, "replay"))
	}
}

func TestDiscardDoesNotPromiseToStopADelivery(t *testing.T) {
	f := setup(t)
	f.waitsFor("")
	item := f.die("accOutbox", "WalletDeducted", "will-4", 1)
	p := f.person("dev-operator")
	const caveat = "A delivery that is under way at this moment comes to its end"
	if _, page := p.get(itemPath(item)); strings.Contains(page, caveat) {
		t.Error("none is under way")
	}
	f.decide(item, dlq.Replay, "otto", dlq.Operator)
	_, page := p.get(itemPath(item))
	_, discard, _ := strings.Cut(page, `id="act-discard"`)
	if discard, _, _ = strings.Cut(discard, "</details>"); !strings.Contains(discard, caveat) {
		t.Errorf("the discard says %s", discard)
	}
}

func TestDecisionWithoutScripts(t *testing.T) {
	f := setup(t)
	item, p := f.die("accOutbox", "WalletDeducted", "plain-1", 1), f.person("dev-operator")
	_, page := p.get(itemPath(item))
	form := itemForm(page, "replay", "the consumer was mended")
	if status, after := p.post(itemPath(item)+"/replay", form); status != http.StatusOK || !strings.Contains(plain(after), "This page tells how the replay ends") {
		t.Errorf("status %d: %.600s", status, plain(after))
	}
	f.eventually("the replay ended", func() bool { return f.item(item.ID).State == contracts.DeadReplayed })
	if _, page := p.get(itemPath(item)); !strings.Contains(plain(page), "a replay delivered it to every target") || !strings.Contains(plain(page), "the consumer was mended") {
		t.Errorf("the end is not told: %.800s", plain(page))
	}
	// The same form once more is about what is not there any more.
	status, page := p.post(itemPath(item)+"/replay", form)
	if status != http.StatusPreconditionFailed || !strings.Contains(plain(page), "it was changed since you looked at it") || !strings.Contains(plain(page), "You had written: the consumer was mended") {
		t.Errorf("status %d: %.800s", status, plain(page))
	}
	if n := f.decisions(item.ID, "replay"); n != 1 {
		t.Errorf("%d replays were asked for, want 1", n)
	}
}

func TestStaleSightIsRefused(t *testing.T) {
	f := setup(t)
	item, p := f.die("accOutbox", "WalletDeducted", "stale-1", 1), f.person("dev-operator")
	_, page := p.get(itemPath(item))
	f.decide(item, dlq.Note, "somebody else", dlq.Operator)
	form := itemForm(page, "discard", "not <b>needed</b>")
	status, fresh := p.post(itemPath(item)+"/discard", form)
	if status != http.StatusPreconditionFailed || !strings.Contains(plain(fresh), "What to do: look at it again, then decide") {
		t.Errorf("status %d: %.600s", status, plain(fresh))
	}
	if !strings.Contains(fresh, `id="act-discard" open`) || !strings.Contains(fresh, ">not &lt;b&gt;needed&lt;/b&gt;</textarea>") || !strings.Contains(plain(fresh), "because of somebody else") {
		t.Error("the page does not show what changed, with the form as it was typed")
	}
	if status, _ := p.post(itemPath(item)+"/discard", itemForm(fresh, "discard", "not needed")); status != http.StatusOK || f.item(item.ID).State != contracts.DeadDiscarded {
		t.Errorf("status %d for a decision about what is there", status)
	}
	if status, page := p.post(itemPath(item)+"/notes", url.Values{"reason": {"x"}, "back": {"/console" + itemPath(item)}}); status != http.StatusPreconditionFailed || !strings.Contains(page, "does not say what you saw") {
		t.Errorf("status %d for a form without a tag", status)
	}
}

// dieWithSecret buries one of SECURITY_BLOCK, whose payload holds the-secret-role.
func (f *fixture) dieWithSecret(aggregate string) *dlq.Item {
	f.t.Helper()
	return f.die("accOutbox", "RoleChanged", aggregate, 1, func(i *dlq.Item) {
		i.Record = record(i)
		i.Record["payload"] = map[string]any{"role": "the-secret-role"}
	})
}

func TestUncoverIsAuditedAndStaysInItsAnswer(t *testing.T) {
	f := setup(t)
	item := f.dieWithSecret("cover-1")
	form := func(p *person) url.Values {
		_, page := p.get(itemPath(item))
		if strings.Contains(page, "the-secret-role") {
			t.Error("the payload is not covered")
		}
		return url.Values{"act": {"uncover"}, "reason": {"a report"}, "back": {"/console" + itemPath(item)}}
	}
	operator, security := f.person("dev-operator"), f.person("dev-security")
	if status, page := operator.post(itemPath(item)+"/uncover", form(operator)); status != http.StatusForbidden || strings.Contains(page, "the-secret-role") {
		t.Errorf("an operator gets status %d", status)
	}
	if n := f.decisions(item.ID, "uncover"); n != 0 {
		t.Errorf("%d looks are audited, and nobody looked", n)
	}
	status, page := security.post(itemPath(item)+"/uncover", form(security))
	if status != http.StatusOK || !strings.Contains(page, "the-secret-role") || !strings.Contains(page, "data-uncovered") {
		t.Errorf("status %d: %.600s", status, plain(page))
	}
	if n := f.decisions(item.ID, "uncover"); n != 1 {
		t.Errorf("%d looks are audited, want 1", n)
	}
	_, page = security.get(itemPath(item))
	if strings.Contains(page, "the-secret-role") || !strings.Contains(plain(page), "dev-security uncovered its payload") {
		t.Error("it is not covered again, or its timeline does not tell of the look")
	}
}

// TestRecordIsShownAsItIs: its numbers are not rounded, and a large one does not fill the page.
func TestRecordIsShownAsItIs(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "WalletDeducted", "large-1", 1, func(i *dlq.Item) {
		i.Record = record(i)
		i.Record["payload"] = map[string]any{"a": int64(9007199254740993), "text": strings.Repeat("ü", 100_000)}
	})
	_, page := f.person("dev-viewer").get(itemPath(item))
	if !strings.Contains(page, "9007199254740993") || !strings.Contains(plain(page), "bytes more are not shown here") || len(page) > 200_000 {
		t.Errorf("the page has %d bytes: %.300s", len(page), plain(page))
	}
}
