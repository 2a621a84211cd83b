package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// hold writes held records of an aggregate.
func (f *fixture) hold(outbox, eventType, aggregate string, n int) {
	f.t.Helper()
	var writes []dlq.Write
	for v := range n {
		i := f.letter(outbox, eventType, aggregate, int64(v+10))
		fields := record(i)
		fields["status"] = string(contracts.Held)
		writes = append(writes, dlq.Write{Collection: outbox, ID: i.ID, Op: dlq.OpSet, Fields: fields})
	}
	_, err := f.store.Commit(f.t.Context(), writes)
	f.must(err)
}

// hostileAggregates are IDs that a careless page would stumble over: as many as a page lists.
var hostileAggregates = []string{
	"acc/1", "100%2F", "a?b#c&d=e", "<b onclick=x>bold</b>", "\u202egnidrocca\u2066", strings.Repeat("long-", 100), "new", `"quoted' \ it`, ".", "..",
}

func TestHostileAggregatesAreFrozenAndReleased(t *testing.T) {
	f := setup(t)
	p := f.person("dev-security")
	for _, aggregate := range hostileAggregates {
		f.die("accOutbox", "RoleChanged", aggregate, 1)
	}
	_, list := p.get("/freezes")
	for _, aggregate := range hostileAggregates {
		path := "/freezes/" + url.PathEscape(dlq.FreezeName(aggregate))
		if !strings.Contains(list, `href="/console`+strings.NewReplacer("&", "&amp;", "+", "&#43;", "'", "&#39;").Replace(path)+`"`) {
			t.Errorf("%q: the list does not lead to %s", aggregate, path)
		}
		status, page := p.get(path)
		if status != http.StatusOK || !strings.Contains(page, "failed for good") || strings.Contains(page, "<b onclick") || strings.Contains(page, ">\u202e") {
			t.Errorf("%q: status %d: %s", aggregate, status, mainOf(page))
		}
		status, page = p.post(path+"/release", itemForm(page, "release", "looked at"))
		if status != http.StatusOK || !strings.Contains(page, "The release has begun") {
			t.Errorf("release of %q: status %d: %s", aggregate, status, mainOf(page))
		}
	}
	f.eventually("none is frozen", func() bool { _, page := p.get("/freezes"); return strings.Contains(page, "No aggregate is frozen") })
}

func TestReleaseNeedsTheRoleAndAReason(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.hold("accOutbox", "WalletDeducted", "acc-1", 3)
	f.hold("orgOutbox", "SkillRecognitionGranted", "acc-1", 2)
	for _, as := range []string{"dev-viewer", "dev-operator"} {
		p := f.person(as)
		_, page := p.get("/freezes/acc-1")
		for _, want := range []string{"5 records", "A release needs the role security", "ask someone with the role security", `disabled aria-describedby="why-release"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: %q is not on the page", as, want)
			}
		}
		if status, page := p.post("/freezes/acc-1/release", url.Values{"reason": {"x"}, "etag": {"*"}}); status != http.StatusForbidden || !strings.Contains(page, "needs the role security") {
			t.Errorf("%s: status %d", as, status)
		}
	}
	p := f.person("dev-security")
	_, page := p.get("/freezes/acc-1")
	for _, want := range []string{"5 records that are held go on", "That overtakes 1 blocked dead letter", "outbox-relay dlq release acc-1 --reason"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page: %s", want, mainOf(page))
		}
	}
	form := itemForm(page, "release", "looked at")
	status, page := p.post("/freezes/acc-1/release", itemForm(page, "release", " "))
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, "a reason is required") || !strings.Contains(page, `id="act-release" open`) {
		t.Errorf("without a reason: status %d: %s", status, mainOf(page))
	}
	f.die("accOutbox", "RoleChanged", "acc-1", 2) // it is frozen by another one, too
	status, page = p.post("/freezes/acc-1/release", form)
	if status != http.StatusPreconditionFailed || !strings.Contains(page, "it was changed since you looked at it") || !strings.Contains(page, ">looked at</textarea>") {
		t.Errorf("after another death: status %d: %s", status, mainOf(page))
	}
}

// What is held meanwhile is told to nobody, and changes no entity tag.
func TestReleaseOfMuchMoreThanWasSeenIsRefused(t *testing.T) {
	f := setup(t)
	p := f.person("dev-security")
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	held := 0
	for _, tt := range []struct {
		more    int // than when it was looked at
		refused string
	}{{1, "it holds 1 record now, and held 0 when you looked at it"}, {7, "it holds 8 records now, and held 1 when"}, {8, ""}} {
		_, page := p.get("/freezes/acc-1")
		if !strings.Contains(page, fmt.Sprintf(`name="held" value="%d"`, held)) {
			t.Errorf("the form does not say that %d are held: %s", held, mainOf(page))
		}
		form := itemForm(page, "release", "looked at")
		form.Set("held", fmt.Sprint(held))
		f.hold("accOutbox", "WalletDeducted", "acc-1", tt.more)
		status, page := p.post("/freezes/acc-1/release", form)
		if refused := status == http.StatusPreconditionFailed; refused != (tt.refused != "") || !strings.Contains(page, tt.refused) {
			t.Errorf("%d held, then %d more: status %d: %s", held, tt.more, status, mainOf(page))
		}
		held += tt.more
	}
}

func TestFreezesAreCountedWithinBounds(t *testing.T) {
	f := setup(t)
	const n = 25
	for k := range n {
		f.die("accOutbox", "RoleChanged", fmt.Sprintf("acc-%02d", k), 1)
	}
	f.hold("accOutbox", "WalletDeducted", "acc-00", 40)
	var counts atomic.Int64 // of records; the queue's gauges count dead letters
	remove := f.server.Faults().Add(firestore.Fault{Method: "RunAggregationQuery", Match: func(c firestore.Call) bool {
		if slices.ContainsFunc(c.Collections, func(name string) bool { return f.catalog.Outbox(name) != nil }) {
			counts.Add(1)
		}
		return false
	}})
	defer remove()
	status, page := f.person("dev-viewer").get("/freezes")
	if status != http.StatusOK || !strings.Contains(page, "40 records") || strings.Count(page, `class="sheet freeze`) != 10 || !strings.Contains(page, "Next page") {
		t.Errorf("status %d: %s", status, mainOf(page))
	}
	if n, most := counts.Load(), int64(10*len(f.catalog.Outboxes)); n == 0 || n > most {
		t.Errorf("%d counts for one page, want %d at most", n, most)
	}
}

func TestReleaseIsSeenToItsEnd(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.hold("accOutbox", "WalletDeducted", "acc-1", 7)
	list := f.open(look{as: "dev-viewer"}, "/freezes")
	watcher := f.open(look{as: "dev-operator"}, "/freezes/acc-1")
	p := f.open(look{as: "dev-security"}, "/freezes/acc-1")
	list.Shows("7 records held behind it")
	watcher.Shows("A release needs the role security")
	f.everyLook("freeze", "dev-security", "/freezes/acc-1")
	f.everyLook("freeze-barred", "dev-operator", "/freezes/acc-1")
	p.Click("#act-release summary")
	p.Shows("7 records that are held go on to their targets")
	p.Write("#reason-release", "the account was looked at")
	p.picture("freeze-act")
	p.Click("#act-release button[type=submit]")
	p.Shows("It is not frozen.")
	watcher.Shows("It is not frozen.")
	list.Shows("No aggregate is frozen.")
	f.die("accOutbox", "RoleChanged", "acc-1", 2)
	watcher.Shows("RoleChanged of it failed for good")
	list.Shows("acc-1")
	p.quiet()
	list.quiet()
}

func TestScreensOfFreezes(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.everyLook("freezes-empty", "dev-viewer", "/freezes")
	f.everyLook("freeze-gone", "dev-viewer", "/freezes/acc-1")
	for _, aggregate := range hostileAggregates {
		f.die("accOutbox", "RoleChanged", aggregate, 1)
	}
	f.hold("accOutbox", "WalletDeducted", "acc/1", 3)
	f.everyLook("freezes", "dev-viewer", "/freezes")
	f.everyLook("freeze-hostile", "dev-security", "/freezes/"+url.PathEscape(hostileAggregates[5]))
}
