package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// siege is how much TestE2EClaimsSurviveKills does: all of it on Google's
// emulators, or when OUTBOX_RELAY_CLAIMS is "full".
type siege struct{ changes, accounts, kills int }

func siegeFor(t *testing.T) siege {
	t.Helper()
	switch {
	case os.Getenv(googleFirestore) != "" || os.Getenv("OUTBOX_RELAY_CLAIMS") == "full":
		return siege{500, 50, 10}
	case testing.Short():
		return siege{60, 10, 2}
	}
	return siege{200, 20, 4}
}

// Role changes of many accounts while the relay is killed again and again: each
// account ends on its highest version's claims, with those of others beside them,
// and each change is announced at least once.
func TestE2EClaimsSurviveKills(t *testing.T) {
	thorough.EndToEnd(t)
	c := openConsulate(t)
	size := siegeFor(t)
	c.env[envLeaseTerm] = killTerm
	c.env["LOG_LEVEL"] = "debug" // overtaken reads what the handler had nothing to do for
	service := c.serve()
	logs := []*output{service.stderr}
	accounts := make([]string, size.accounts)
	for n := range accounts {
		accounts[n] = c.aggregate(fmt.Sprint("siege-", n))
		c.user(accounts[n], othersOf(n))
	}
	each := int64(size.changes / size.accounts)
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		for v := range each {
			for n, account := range accounts {
				record := c.roleChange(account, v+1, map[string]any{"accountId": account, "roles": roles(v + 1), "claims": seatOf(n, v+1)})
				if err := c.appendOn(record); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	announced := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.signals)
	}
	for kill := range size.kills {
		at := size.changes*kill/size.kills + rand.IntN(size.changes/size.kills)
		patiently(t, "the next kill is due", 2*testPatience, time.Millisecond, func() bool { return announced() >= at })
		<-time.After(rand.N(20 * time.Millisecond)) // so that each step is hit
		service.signal(t, syscall.SIGKILL)
		service.wait(t)
		t.Logf("killed when %d signals had arrived", announced())
		service = c.serve()
		logs = append(logs, service.stderr)
	}
	<-appended
	open := func() (n int) {
		for _, status := range []contracts.Status{contracts.Pending, contracts.Retrying, contracts.Held, contracts.Dead} {
			records, err := c.docs.Collection("accOutbox").Where(contracts.FieldStatus, "==", string(status)).Select().Documents(t.Context()).GetAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if !strings.HasPrefix(r.Ref.ID, "!") { // else a canary, which is a pending record too
					n++
				}
			}
		}
		return n
	}
	highest := func(account string) bool {
		got, _ := c.document(contracts.CollectionRefreshSignals, account)["claimsVersion"].(int64)
		return got == each
	}
	for _, account := range accounts {
		patiently(t, "the highest version is announced to "+account, 2*testPatience, 20*time.Millisecond, func() bool { return highest(account) })
	}
	// The last kill may have come when all was announced and not all was marked.
	patiently(t, "all are delivered", testPatience, 50*time.Millisecond, func() bool { return open() == 0 })
	service.signal(t, syscall.SIGTERM)
	if code := service.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d", code)
	}
	duplicates, overtaken := 0, 0
	for n, account := range accounts {
		want := with(othersOf(n), with(map[string]any{"roles": roles(each), "claimsVersion": float64(each)}, seatOf(n, each)))
		if diff := cmp.Diff(want, c.claims(account)); diff != "" {
			t.Errorf("claims of %s (-want +got):\n%s", account, diff)
		}
		snapshot := c.document(contracts.CollectionClaimsSnapshots, account)
		if snapshot["claimsVersion"] != each || snapshot["announced"] != each {
			t.Errorf("snapshot of %s: version %v, announced %v; want %d", account, snapshot["claimsVersion"], snapshot["announced"], each)
		}
		times := map[int64]int{}
		t.Cleanup(func() {
			if t.Failed() {
				c.tellOf(account, c.without(times, each))
			}
		})
		patiently(t, "each change of "+account+" is announced", testPatience, 200*time.Millisecond, func() bool {
			clear(times)
			for _, s := range c.signalsOf(account) {
				times[s.Version]++
			}
			return !slices.ContainsFunc(c.without(times, each), func(v int64) bool { return !c.overtaken(account, v, logs) })
		})
		overtaken += len(c.without(times, each))
		for _, n := range times {
			duplicates += n - 1
		}
	}
	t.Logf("%d changes of %d accounts through %d kills: all on their highest version; %d signals announced, %d of them twice, %d changes overtaken",
		size.changes, size.accounts, size.kills, announced(), duplicates, overtaken)
}

// without lists the versions up to the highest that were never announced.
func (c *consulate) without(times map[int64]int, highest int64) (versions []int64) {
	for v := int64(1); v <= highest; v++ {
		if times[v] == 0 {
			versions = append(versions, v)
		}
	}
	return versions
}

// overtaken excuses a change that came behind a newer one on Google's emulator,
// whose listeners may begin with the latest part of what they should show (see
// audience.age). Nowhere else may that happen.
func (c *consulate) overtaken(account string, version int64, logs []*output) bool {
	c.t.Helper()
	return os.Getenv(googleFirestore) != "" && c.cameBehind(account, version, logs)
}

// cameBehind reports whether a change came to the handler behind a newer one of
// its account, which holds it then and is announced in its place. The handler's
// own words tell: it found a newer version. The times of the marks do not, as
// marks of one record are written again after a kill.
func (c *consulate) cameBehind(account string, version int64, logs []*output) bool {
	c.t.Helper()
	records, err := c.docs.Collection("accOutbox").Where(contracts.FieldAggregateID, "==", account).
		Where(contracts.FieldAggregateVersion, "==", version).Documents(c.t.Context()).GetAll()
	if err != nil || len(records) != 1 {
		c.t.Fatalf("%d records of version %d of %s: %v", len(records), version, account, err)
	}
	for _, log := range logs {
		for line := range strings.Lines(log.String()) {
			var told struct {
				Message, EventID string
				ClaimsVersion    int64
			}
			if json.Unmarshal([]byte(line), &told) == nil && told.Message == "claims refreshed" &&
				told.EventID == records[0].Data()[contracts.FieldEventID] && told.ClaimsVersion > version {
				c.t.Logf("version %d of %s came behind version %d", version, account, told.ClaimsVersion)
				return true
			}
		}
	}
	return false
}

// The proof that excuses a change tells one that came behind a newer one from
// those that came in their order.
func TestE2EClaimsProofOfOvertaking(t *testing.T) {
	c := openConsulate(t)
	c.env["LOG_LEVEL"] = "debug"
	logs := []*output{c.serve().stderr}
	account := c.aggregate("overtaken")
	c.user(account, nil)
	for _, version := range []int64{1, 3, 2} {
		record := c.roleChange(account, version, map[string]any{"accountId": account, "roles": roles(version)})
		if err := c.appendOn(record); err != nil {
			t.Fatal(err)
		}
		patiently(t, fmt.Sprintf("version %d is delivered", version), testPatience, 20*time.Millisecond, func() bool { return c.status(record) == contracts.Delivered })
	}
	eventually(t, "the log tells that version 2 came behind a newer one", func() bool { return c.cameBehind(account, 2, logs) })
	for _, version := range []int64{1, 3} {
		if c.cameBehind(account, version, logs) {
			t.Errorf("version %d is said to have come behind a newer one", version)
		}
	}
}

// tellOf logs what is known of changes that were never announced.
func (c *consulate) tellOf(account string, versions []int64) {
	if len(versions) == 0 {
		return
	}
	c.t.Logf("%s: never announced %v, arrived %v", account, versions, c.signalsOf(account))
	records, err := c.docs.Collection("accOutbox").Where(contracts.FieldAggregateID, "==", account).Documents(context.Background()).GetAll()
	if err != nil {
		c.t.Log(err)
	}
	for _, r := range records {
		d := r.Data()
		c.t.Logf("version %v: appended %v, delivered %v, %v", d[contracts.FieldAggregateVersion], d[contracts.FieldCreatedAt], d[contracts.FieldDeliveredAt], d[contracts.FieldStatus])
	}
}

// appendOn is append for another goroutine than the test's. Google's Firestore
// emulator gives up on a commit under load, so it tries a few times.
func (c *consulate) appendOn(record appender.Record) (err error) {
	for range 5 {
		if _, err = appender.Write(c.t.Context(), c.docs.Client, []appender.Record{record}); err == nil {
			return nil
		}
	}
	return err
}

// othersOf are claims of somebody else's that the n-th account has.
func othersOf(n int) map[string]any { return map[string]any{"tenant": fmt.Sprint("tenant-", n)} }

// seatOf are further claims that come and go with the versions.
func seatOf(n int, v int64) map[string]any {
	if (int64(n)+v)%2 == 0 {
		return map[string]any{}
	}
	return map[string]any{"seat": float64(v)}
}
