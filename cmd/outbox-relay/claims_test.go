package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/auth"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// The way of one RoleChanged, from its append to the new claims in its client's
// token, with the time of each step.
func TestE2EClaimsTimeline(t *testing.T) {
	c := openConsulate(t)
	service := c.serve()
	account := c.aggregate("timeline")
	others := map[string]any{"plan": "gold"}
	c.user(account, others)
	session, err := c.users.SignIn(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	// The first change opens connections and is not timed.
	for v := range int64(2) {
		steps := c.timed(service, account, v+1, func() error {
			session, err = c.users.Renew(t.Context(), session)
			return err
		})
		want := with(others, map[string]any{"roles": roles(v + 1), "claimsVersion": float64(v + 1)})
		got := map[string]any{}
		for name := range want {
			got[name] = session.Claims[name]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claims in the token of version %d (-want +got):\n%s", v+1, diff)
		}
		if v == 1 {
			t.Logf("one RoleChanged, from its append:\n%s", strings.Join(steps, "\n"))
		}
	}
}

// step is one of a timeline.
type step struct {
	what string
	at   time.Time
}

// stepsOf reads out of the service's log when the handler of claims came to the
// end of each of its steps for a version.
func stepsOf(t *testing.T, service *child, v int64) []step {
	t.Helper()
	line := service.stderr.find(t, fmt.Sprintf(`(?m)^(.*"message":"claims refreshed".*"claimsVersion":%d,.*)$`, v))
	var told struct{ Time time.Time }
	var fields map[string]any
	if err := errors.Join(json.Unmarshal([]byte(line), &told), json.Unmarshal([]byte(line), &fields)); err != nil {
		t.Fatal(err)
	}
	took := func(name string) time.Duration {
		text, _ := fields[name].(string)
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	at := told.Time.Add(-took("took"))
	steps := []step{{"relay: the handler begins", at}}
	for _, s := range [][2]string{
		{"look-up", "relay: the user's claims are looked up"},
		{"read", "relay: account, snapshot and signal are read"},
		{"commit", "relay: the snapshot is committed"},
		{"set", "relay: the claims are set"},
		{"announce", "relay: the signal is written, published and noted"},
	} {
		at = at.Add(took(s[0]))
		steps = append(steps, step{s[1], at})
	}
	return steps
}

// timed appends version v of an account and follows it to the token that renew
// fetches. It tells when each step was seen, soonest first.
func (c *consulate) timed(service *child, account string, v int64, renew func() error) []string {
	t := c.t
	t.Helper()
	var (
		mu    sync.Mutex
		steps []step
		wg    sync.WaitGroup
	)
	saw := func(what string, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, step{what, at})
	}
	record := c.roleChange(account, v, map[string]any{"accountId": account, "roles": roles(v)})
	began := time.Now()
	wg.Go(func() {
		at, err := c.awaitField(t.Context(), contracts.CollectionRefreshSignals+"/"+account, "claimsVersion", v)
		if err != nil {
			t.Error(err)
			return
		}
		saw("the app hears the signal", at)
		if err := renew(); err != nil {
			t.Error(err)
			return
		}
		saw("the app has a token with the new claims", time.Now())
	})
	wg.Go(func() {
		at, err := c.awaitField(t.Context(), record.Outbox+"/"+record.ID, contracts.FieldStatus, string(contracts.Delivered))
		if err != nil {
			t.Error(err)
		}
		saw("the record is seen as delivered", at)
	})
	c.append(record)
	saw("the append is acknowledged", time.Now())
	of := func(s signalMessage) bool { return s.Version == v }
	eventually(t, "the signal has arrived on its topic", func() bool { return slices.ContainsFunc(c.signalsOf(account), of) })
	all := c.signalsOf(account)
	saw("the signal arrives on its topic", all[slices.IndexFunc(all, of)].At)
	wg.Wait()
	steps = append(steps, stepsOf(t, service, v)...)
	slices.SortFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = fmt.Sprintf("%8.1f ms  %s", float64(s.at.Sub(began).Microseconds())/1000, s.what)
	}
	return lines
}

// Claims that cannot be set: third failure, blocked and frozen with an alert that
// says why; once the user is there, authorization, replay and release end in the
// right claims, and what was held is delivered in order.
func TestE2EClaimsFailingPath(t *testing.T) {
	thorough.EndToEnd(t)
	c := openConsulate(t)
	c.serve()
	account := c.aggregate("nobody")
	change := func(v int64) appender.Record {
		return c.roleChange(account, v, map[string]any{"accountId": account, "roles": roles(v)})
	}
	first := change(1)
	c.append(first)
	id := dlq.ID(keyOf(first))
	eventually(t, "the record is a dead letter", func() bool { return c.exists(contracts.CollectionDeadLetters, id) })
	c.stands("after the third failure", id)
	i := c.item(id)
	if i.Tier != contracts.SecurityBlock || i.State != contracts.DeadBlocked || i.Reason != contracts.ClaimsRefreshFailed || i.Attempts != 3 || len(i.Errors) != 3 {
		t.Errorf("dead letter: %+v", i)
	}
	eventually(t, "the alert is published", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.arrivals, func(a arrival) bool { return a.Topic == contracts.TopicErrors && a.Aggregate == account })
	})
	alerts := c.alerts(id)
	if len(alerts) != 1 {
		t.Fatalf("%d alerts, want one", len(alerts))
	}
	alert := alerts[0].Data()
	if why, _ := alert["lastError"].(string); alert["aggregateId"] != account || alert["reason"] != "CLAIMS_REFRESH_FAILED" || !strings.HasPrefix(why, "UserNotFound: ") {
		t.Errorf("the alert does not say which account and why: %v", alert)
	}

	held := []appender.Record{change(2), change(3), c.record(contracts.SafeAuto, account, 1)}
	c.append(held...)
	for _, r := range held {
		eventually(t, "a later record is held", func() bool { return c.status(r) == contracts.Held })
	}
	c.user(account, map[string]any{"plan": "gold"})
	c.mustDLQ("security", "authorize", id, "--reason", "the user exists now")
	c.mustDLQ("security-2", "replay", id, "--wait", "--reason", "authorized")
	if diff := cmp.Diff(roles(1), c.claims(account)["roles"]); diff != "" {
		t.Errorf("roles after the replay (-want +got):\n%s", diff)
	}
	for _, r := range held {
		if got := c.status(r); got != contracts.Held {
			t.Errorf("before the release %s is %s", keyOf(r), got)
		}
	}
	c.mustDLQ("security", "release", account, "--reason", "the claims are right")
	for _, r := range held {
		eventually(t, "a held record is delivered", func() bool { return c.status(r) == contracts.Delivered })
	}
	c.stands("at its end", id)
	want := map[string]any{"plan": "gold", "roles": roles(3), "claimsVersion": 3.0}
	if diff := cmp.Diff(want, c.claims(account)); diff != "" {
		t.Errorf("claims at the end (-want +got):\n%s", diff)
	}
	eventually(t, "all signals have arrived", func() bool { return len(c.signalsOf(account)) >= 3 })
	var versions []int64
	for _, s := range c.signalsOf(account) {
		versions = append(versions, s.Version)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, versions); diff != "" {
		t.Errorf("signals came in the order (-want +got):\n%s", diff)
	}
	eventually(t, "the other outbox's record has arrived", func() bool {
		return slices.ContainsFunc(c.of(account), func(a arrival) bool { return a.Key == keyOf(held[2]) })
	})
	session, err := c.users.SignIn(t.Context(), account)
	if err != nil || session.ClaimsVersion() != 3 {
		t.Errorf("sign in: %v, claims %v", err, session)
	}
	if c.exists(contracts.CollectionFrozen, dlq.FreezeID(account)) {
		t.Error("the account is still frozen")
	}
	t.Logf("audit of the dead letter %v, of the account %v", c.audited(id), c.audited(account))
}

// Without credentials for Auth the service starts and says what lacks: records
// for the claims wait without an attempt counted, all else flows.
func TestE2EClaimsWaitForCredentials(t *testing.T) {
	c := openConsulate(t)
	address := c.env[gcp.EnvAuth]
	delete(c.env, gcp.EnvAuth)
	c.env["HOME"] = t.TempDir() // nobody's credentials
	service := c.serve()
	service.stderr.find(t, `(claims cannot be set).*GOOGLE_APPLICATION_CREDENTIALS`)
	account, other := c.aggregate("waits"), c.aggregate("flows")
	c.user(account, nil)
	waiting, flowing := c.roleChange(account, 1, map[string]any{"roles": roles(1)}), c.record(contracts.ReviewRequired, other, 1)
	c.append(waiting)
	eventually(t, "the breaker is open", func() bool {
		_, body := fetch(t, strings.TrimPrefix(c.url, "http://"), "/readyz")
		return strings.Contains(body, "NoCredentials")
	})
	c.append(flowing)
	eventually(t, "another target's record is delivered", func() bool { return c.status(flowing) == contracts.Delivered })
	if snap, err := c.docs.Collection(waiting.Outbox).Doc(waiting.ID).Get(t.Context()); err != nil || snap.Data()[contracts.FieldAttempts] != nil {
		t.Errorf("the waiting record: %v, attempts %v, want none", err, snap.Data()[contracts.FieldAttempts])
	}
	service.signal(t, syscall.SIGTERM)
	if code := service.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d", code)
	}
	c.env[gcp.EnvAuth] = address
	c.serve()
	eventually(t, "the waiting record is delivered", func() bool { return c.status(waiting) == contracts.Delivered })
}

// A service account without its role is refused with status 400: records of all
// accounts wait, without an attempt counted.
func TestE2EClaimsWaitForPermission(t *testing.T) {
	thorough.EndToEnd(t)
	cloud := startCloud(t)
	cloud.at.Auth = cloud.AuthAddr
	c := openConsulateAt(t, cloud.at)
	if _, err := cloud.Auth.Faults().Add(auth.Fault{Method: auth.MethodUpdate, Field: "customAttributes", Status: 400, Message: "INSUFFICIENT_PERMISSION"}); err != nil {
		t.Fatal(err)
	}
	var changes []appender.Record
	for i := range 5 {
		account := c.aggregate(fmt.Sprint("waits-", i))
		if err := c.users.CreateUser(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c.roleChange(account, 1, map[string]any{"roles": roles(1)}))
	}
	c.serve()
	c.append(changes...)
	dead := func(r appender.Record) bool { return c.exists(contracts.CollectionDeadLetters, dlq.ID(keyOf(r))) }
	eventually(t, "the breaker is open", func() bool {
		_, body := fetch(t, strings.TrimPrefix(c.url, "http://"), "/readyz")
		return strings.Contains(body, "PermissionDenied") || slices.ContainsFunc(changes, dead)
	})
	for _, r := range changes {
		snap, err := c.docs.Collection(r.Outbox).Doc(r.ID).Get(t.Context())
		if err != nil || snap.Data()[contracts.FieldAttempts] != nil {
			t.Errorf("%s: %v, attempts %v, want none", keyOf(r), err, snap.Data()[contracts.FieldAttempts])
		}
		if dead(r) {
			t.Errorf("%s is a dead letter", keyOf(r))
		}
	}
	cloud.Auth.Faults().Clear()
	for _, r := range changes {
		eventually(t, "a record is delivered once the role is there", func() bool { return c.status(r) == contracts.Delivered })
	}
}
