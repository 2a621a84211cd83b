package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// A SAFE_AUTO record dies at its third failure, is replayed by itself in vain,
// becomes REVIEW_REQUIRED, and is delivered when an operator asks.
func TestE2ESafeAuto(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	c.serve()
	aggregate := c.aggregate("auto")
	id := c.dead(contracts.SafeAuto, aggregate, 1)
	c.stands("SAFE_AUTO after the third failure", id)
	var i adminapi.Item
	eventually(t, "its automatic replays are over", func() bool { i = c.item(id); return i.Tier == contracts.ReviewRequired })
	if i.State != contracts.DeadAwaitingReview || i.OriginalTier != contracts.SafeAuto || i.Attempts != 3 || i.Replays != 5 || len(i.Errors) != 8 {
		t.Errorf("after the last automatic replay: %+v", i)
	}
	c.stands("SAFE_AUTO after its last replay", id)
	c.broker.accept(aggregate)
	c.mustDLQ("operator", "replay", id, "--wait", "--reason", "the broker takes it")
	c.stands("SAFE_AUTO at its end", id)
	eventually(t, "it has arrived", func() bool { return len(c.of(aggregate)) > 0 })
	if got := c.of(aggregate)[0]; got.Replay != id || got.TraceID != i.TraceID {
		t.Errorf("arrival %+v, want attribute replay %s and trace %s", got, id, i.TraceID)
	}
	t.Logf("SAFE_AUTO: %d attempts, %d replays in vain, audit %v", i.Attempts, i.Replays, c.audited(id))
}

// A SAFE_AUTO record whose target comes back is delivered without anybody.
func TestE2ESafeAutoHealsByItself(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	// A replay is left when the target comes back, however late that is.
	c.env["CATALOG"] = edited(t, c.env["CATALOG"], "delays: [100ms, 100ms, 100ms, 100ms, 100ms]", "delays: [100ms, 1s, 5s, 20s, 1m]")
	c.serve()
	aggregate := c.aggregate("heals")
	id := c.dead(contracts.SafeAuto, aggregate, 1)
	c.broker.accept(aggregate)
	eventually(t, "it is replayed", func() bool { return c.item(id).State == contracts.DeadReplayed })
	eventually(t, "it has arrived", func() bool { return len(c.of(aggregate)) > 0 })
}

// A REVIEW_REQUIRED dead letter ends by an operator's replay or discard, while
// later records of its aggregate pass it.
func TestE2EReviewRequired(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	c.serve()
	replayed, discarded := c.aggregate("replayed"), c.aggregate("discarded")
	id, other := c.dead(contracts.ReviewRequired, replayed, 1), c.dead(contracts.ReviewRequired, discarded, 1)
	c.stands("REVIEW_REQUIRED after the third failure", id)
	if i := c.item(id); i.State != contracts.DeadAwaitingReview || i.Attempts != 3 {
		t.Errorf("dead letter: %+v", i)
	}
	failed := c.dlq("operator", "replay", id, "--wait", "--reason", "too early")
	if failed.code != shell.ExitNotAll || !strings.Contains(failed.stderr, "Internal") {
		t.Errorf("replay while it is refused: %+v", failed)
	}
	c.broker.accept(replayed, discarded)
	c.append(c.record(contracts.ReviewRequired, replayed, 2))
	eventually(t, "a later version has arrived", func() bool { return len(c.of(replayed)) > 0 })
	if out := c.mustDLQ("operator", "replay", id, "--wait", "--reason", "mended"); !strings.Contains(out, "delivered") {
		t.Errorf("replay: %s", out)
	}
	eventually(t, "it has arrived", func() bool {
		return slices.ContainsFunc(c.of(replayed), func(a arrival) bool { return a.Replay == id })
	})
	c.stands("REVIEW_REQUIRED replayed", id)
	c.mustDLQ("operator", "discard", other, "--reason", "obsolete")
	c.stands("REVIEW_REQUIRED discarded", other)
	if again := c.dlq("operator", "replay", other, "--reason", "no"); again.code != shell.ExitConflict {
		t.Errorf("replay of a discarded one: %+v", again)
	}
	if n := len(c.of(discarded)); n != 0 {
		t.Errorf("%d messages of the discarded one", n)
	}
	t.Logf("REVIEW_REQUIRED: audit of the replayed %v, of the discarded %v", c.audited(id), c.audited(other))
}

// A SECURITY_BLOCK dead letter freezes its account: alert, held records of other
// outboxes, authorization by one person and replay by another, release in order.
func TestE2ESecurityBlock(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	c.serve()
	account := c.aggregate("account")
	id := c.dead(contracts.SecurityBlock, account, 1)
	eventually(t, "the alert is published", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.arrivals, func(a arrival) bool { return a.Topic == contracts.TopicErrors && a.Aggregate == account })
	})
	c.broker.accept(account)
	held := []appender.Record{c.record(contracts.SecurityBlock, account, 2), c.record(contracts.SecurityBlock, account, 3), c.record(contracts.SafeAuto, account, 1)}
	c.append(held...)
	for _, r := range held {
		eventually(t, "a later record is held", func() bool { return c.status(r) == contracts.Held })
	}
	c.stands("SECURITY_BLOCK after the third failure", id)
	for _, step := range []struct {
		who  string
		args []string
		want int
	}{
		{"operator", []string{"replay", id, "--reason", "x"}, shell.ExitConflict},
		{"operator", []string{"authorize", id, "--reason", "x"}, shell.ExitNotAllowed},
		{"operator", []string{"release", account, "--reason", "x"}, shell.ExitNotAllowed},
		{"security", []string{"authorize", id, "--reason", "checked"}, shell.ExitOK},
		{"security", []string{"replay", id, "--reason", "x"}, shell.ExitNotAllowed}, // the same person
		{"security-2", []string{"replay", id, "--wait", "--reason", "second person"}, shell.ExitOK},
		{"security", []string{"release", account, "--reason", "the role is in place"}, shell.ExitOK},
	} {
		if got := c.dlq(step.who, step.args...); got.code != step.want {
			t.Errorf("%s %v: %+v, want exit code %d", step.who, step.args, got, step.want)
		}
	}
	eventually(t, "the freeze is gone", func() bool { return !c.exists(contracts.CollectionFrozen, dlq.FreezeID(account)) })
	eventually(t, "the replay and what was held have arrived", func() bool {
		got := c.delivered(account)
		return slices.ContainsFunc(got, func(a arrival) bool { return a.Replay == id }) && !slices.ContainsFunc(held, func(r appender.Record) bool {
			return !slices.ContainsFunc(got, func(a arrival) bool { return a.Key == keyOf(r) })
		})
	})
	c.stands("SECURITY_BLOCK at its end", id)
	if i := c.item(id); i.State != contracts.DeadReplayed || i.AuthorizedBy != "dev-security" {
		t.Errorf("at its end: %+v", i)
	}
	want := []string{keyOf(held[0]), keyOf(held[1])}
	var got []string
	for _, a := range c.delivered(account) {
		if a.EventType == ofTier[contracts.SecurityBlock][1] && a.Replay == "" && !slices.Contains(got, a.Key) {
			got = append(got, a.Key)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("held records arrived as %v, want %v", got, want)
	}
	t.Logf("SECURITY_BLOCK: audit of the dead letter %v, of the account %v", c.audited(id), c.audited(account))
}

// delivered is what arrived of an aggregate at targets, alerts apart.
func (c *clinic) delivered(aggregate string) []arrival {
	return slices.DeleteFunc(c.of(aggregate), func(a arrival) bool { return a.Topic == contracts.TopicErrors })
}

// Of many who ask for the same replay at once, one is taken at its word.
func TestE2EConcurrentReplays(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	c.serve()
	aggregate := c.aggregate("race")
	id := c.dead(contracts.ReviewRequired, aggregate, 1)
	resume := c.broker.hang(aggregate) // so that the replay has not ended when the last one asks
	c.broker.accept(aggregate)
	const askers = 50
	// Several identities, as one may ask only so often.
	tokens := []string{"dev-operator", "dev-security", "dev-security-2"}
	var mu sync.Mutex
	statuses := map[int]int{}
	start := make(chan struct{})
	var wg sync.WaitGroup
	client := &http.Client{}
	for n := range askers {
		wg.Go(func() {
			<-start
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/admin/v1"+adminapi.Path("dlq", id, "replay"),
				strings.NewReader(`{"reason":"race"}`))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+tokens[n%len(tokens)])
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			statuses[resp.StatusCode]++
		})
	}
	close(start)
	wg.Wait()
	client.CloseIdleConnections()
	t.Logf("%d concurrent replays of one dead letter: %v", askers, statuses)
	if audited := c.audited(id)["replay"]; statuses[http.StatusAccepted] != 1 || statuses[http.StatusConflict] != askers-1 || audited != 1 {
		t.Errorf("statuses %v, %d replays audited; want one accepted and audited", statuses, audited)
	}
	resume()
	eventually(t, "it is replayed", func() bool { return c.item(id).State == contracts.DeadReplayed })
}

// A bulk replay goes on where it stood though the service is killed twice: every
// pinned dead letter ends replayed, each target gets each at least once, and
// nothing outside of the selection is touched.
func TestE2EBulkReplaySurvivesKills(t *testing.T) {
	thorough.Long(t)
	c := openClinic(t)
	c.env[envLeaseTerm] = killTerm
	service := c.serve()
	const outside = 20
	size := thorough.Bulk(t)
	pinned := int64(size)
	// Counting a thousand documents keeps an emulator from its work.
	await := func(what string, ok func() bool) {
		began := time.Now()
		patiently(t, what, 5*time.Minute, 250*time.Millisecond, ok)
		t.Logf("waited %s until %s", time.Since(began).Round(100*time.Millisecond), what)
	}
	var records, others []appender.Record
	c.broker.refuseAll()
	for n := range pinned {
		records = append(records, c.record(contracts.ReviewRequired, c.aggregate(fmt.Sprintf("bulk-%d", n%50)), 1+n/50))
	}
	for n := range outside {
		r := c.record(contracts.ReviewRequired, c.aggregate(fmt.Sprintf("other-%d", n)), 1)
		r.Fields[contracts.FieldEventType] = "WalletCredited"
		others = append(others, r)
	}
	c.append(records...)
	c.append(others...)
	count := func(state contracts.DeadState, eventType string) int64 {
		letters := c.docs.Collection(contracts.CollectionDeadLetters).
			Where(contracts.DeadFieldState, "==", string(state)).Where(contracts.FieldEventType, "==", eventType).
			OrderBy(contracts.DeadFieldDeadAt, firestore.Desc)
		counted, err := letters.NewAggregationQuery().WithCount("n").Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return counted["n"].(*firestorepb.Value).GetIntegerValue()
	}
	await("all are dead letters", func() bool {
		return count(contracts.DeadAwaitingReview, "WalletDeducted") == pinned && count(contracts.DeadAwaitingReview, "WalletCredited") == outside
	})
	c.broker.accept()

	begun := c.mustDLQ("operator", "bulk", "--event-type", "WalletDeducted", "--rate", "400", "--reason", "mended", "--yes", "--no-follow", "--json")
	var bulk adminapi.Bulk
	if err := json.Unmarshal([]byte(begun), &bulk); err != nil || bulk.Total != size {
		t.Fatalf("bulk replay: %v, %+v", err, bulk)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("bulk replays: %s; the service's log ends with:\n%s", c.dlq("operator", "bulks").stdout, tail(service.stderr.String(), 5000))
		}
	})
	for _, at := range []int64{pinned / 5, pinned / 2} {
		await("a part of it is replayed", func() bool { return count(contracts.DeadReplayed, "WalletDeducted") >= at })
		service.signal(t, syscall.SIGKILL)
		service.wait(t)
		t.Logf("killed at %d of %d replayed", count(contracts.DeadReplayed, "WalletDeducted"), pinned)
		service = c.serve()
	}
	await("the bulk replay has ended", func() bool { // its table may be read by a slow machine: follow asks once
		status, body := c.ask("dev-operator", "/admin/v1/replays/"+bulk.ID)
		return status == http.StatusOK && json.Unmarshal(body, &bulk) == nil && bulk.Ended()
	})
	followed := c.dlq("operator", "follow", bulk.ID)
	if followed.code != shell.ExitOK || bulk.State != dlq.BulkDone || bulk.Delivered != size {
		t.Errorf("at its end: %+v, follow %+v", bulk, followed)
	}
	if replayed, left := count(contracts.DeadReplayed, "WalletDeducted"), count(contracts.DeadAwaitingReview, "WalletCredited"); replayed != pinned || left != outside {
		t.Errorf("%d replayed and %d left alone, want %d and %d", replayed, left, pinned, outside)
	}
	arrived := func() (distinct, messages int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		keys := map[string]bool{}
		for _, a := range c.arrivals {
			if a.Replay != "" {
				keys[a.Key] = true
				messages++
			}
		}
		return int64(len(keys)), messages
	}
	await("each has arrived", func() bool { n, _ := arrived(); return n == pinned })
	for _, r := range others {
		if n := len(c.of(r.Fields[contracts.FieldAggregateID].(string))); n != 0 {
			t.Errorf("%s, outside of the selection, arrived %d times", keyOf(r), n)
		}
	}
	distinct, messages := arrived()
	t.Logf("bulk replay of %d through two kills: %d delivered, %d failed, %d passed over; %d messages for %d dead letters",
		pinned, bulk.Delivered, bulk.Failed, bulk.Skipped, messages, distinct)
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// ask reads a path of the service as somebody.
func (c *clinic) ask(token, path string) (status int, body []byte) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, b.Bytes()
}
