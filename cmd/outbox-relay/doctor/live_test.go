package doctor_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// put writes a document as it is.
func (c *clinic) put(path string, fields map[string]any) {
	c.t.Helper()
	c.withFirestore(func(client *dlqfirestore.Client) {
		if _, err := client.Doc(path).Set(c.t.Context(), fields); err != nil {
			c.t.Fatal(err)
		}
	})
}

// record is a pending one of the account's outbox.
func record(created time.Time, change map[string]any) map[string]any {
	fields := map[string]any{
		"eventId": "0f8fad5b-d9cb-469f-a165-70867728950e", "eventType": "WalletDeducted", "aggregateId": "a-1", "aggregateVersion": 1,
		"idempotencyKey": "0f8fad5b-d9cb-469f-a165-70867728950e:a-1:1", "traceId": "t-1", "lane": "CRITICAL_LANE", "dlqTier": "REVIEW_REQUIRED",
		"occurredAt": created, "createdAt": created, "payload": map[string]any{}, "status": "pending",
	}
	maps.Copy(fields, change)
	return fields
}

func TestOutboxes(t *testing.T) {
	now := time.Now()
	t.Run("a record that just came", func(t *testing.T) {
		c := complete(t)
		c.put("accOutbox/r", record(now, nil))
		expect(t, c.examine())
	})
	t.Run("a record that waits", func(t *testing.T) {
		c := complete(t)
		c.put("accOutbox/r", record(now.Add(-time.Hour), nil))
		r := c.examine()
		expect(t, r, "outboxes warn accOutbox")
		if f := only(t, r, "outboxes", "accOutbox"); !strings.Contains(f.Detail, "CRITICAL_LANE has been pending for 1h0m") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("the relay's canary", func(t *testing.T) {
		c := complete(t)
		c.put("accOutbox/!relay-canary.CRITICAL_LANE", map[string]any{
			"status": "pending", "lane": "CRITICAL_LANE", "createdAt": time.Unix(0, 0), "canary": "nonce",
		})
		expect(t, c.examine())
	})
	t.Run("records that break their contract", func(t *testing.T) {
		c := complete(t)
		c.put("accOutbox/r1", record(now, map[string]any{"traceId": 7}))
		c.put("accOutbox/r2", record(now, map[string]any{"traceId": 7, "eventType": "hush"}))
		c.put("accOutbox/r3", record(now, nil))
		r := c.examine()
		expect(t, r, "outboxes warn accOutbox")
		f := only(t, r, "outboxes", "accOutbox")
		if !strings.HasPrefix(f.Detail, "2 of 3 pending records") || !strings.Contains(f.Detail, "traceId is an integer, want a string (2)") {
			t.Errorf("%+v", f)
		}
	})
}

// lease and instance are documents as the relay's leases write them.
func instance(revision string, shares []string) map[string]any {
	return map[string]any{
		"kind": "instance", "instance": "any", "nonce": "n", "since": time.Now(), "termMillis": 60_000, "stopping": false, "revision": revision, "shares": shares,
	}
}

func owned(share, owner string) map[string]any {
	return map[string]any{"kind": "lease", "share": share, "owner": owner, "nonce": "n", "since": time.Now(), "termMillis": 60_000, "renewals": 1, "note": ""}
}

func TestLeases(t *testing.T) {
	shares := []string{"accOutbox", "orgOutbox", "schedOutbox", "skillOutbox", "tagOutbox", "wsOutbox"}
	all := func(c *clinic) {
		c.put("relay-leases/instance.a", instance("r-1", shares))
		for _, s := range append(shares, "queue") {
			c.put("relay-leases/"+s, owned(s, "a"))
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*clinic)
		want   []string
	}{
		{"one instance owns all", func(*clinic) {}, nil},
		{"a share of nobody", func(c *clinic) { c.put("relay-leases/wsOutbox", owned("wsOutbox", "")) }, []string{"leases warn wsOutbox"}},
		{"two revisions", func(c *clinic) { c.put("relay-leases/instance.b", instance("r-2", shares)) }, []string{"leases warn"}},
		{"another catalog", func(c *clinic) { c.put("relay-leases/instance.b", instance("r-1", append(shares[1:], "xOutbox"))) }, []string{"leases warn b"}},
		{"an outbox that no live instance knows", func(c *clinic) {
			c.put("relay-leases/instance.a", instance("r-1", shares[:5]))
			c.put("relay-leases/wsOutbox", owned("wsOutbox", ""))
		}, []string{"leases warn a", "leases warn wsOutbox"}},
		{"an instance that hangs", func(c *clinic) {
			i := instance("r-1", shares)
			i["termMillis"] = 1
			c.put("relay-leases/instance.b", i)
			c.later()
		}, []string{"leases warn b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := complete(t)
			all(c)
			tc.change(c)
			expect(t, c.examine(), tc.want...)
		})
	}
}

// later waits until the server's clock has gone on.
func (c *clinic) later() {
	c.t.Helper()
	c.withFirestore(func(client *dlqfirestore.Client) {
		var first time.Time
		for {
			snap, _ := client.Doc("nothing/nothing").Get(c.t.Context()) // it tells its read time although there is none
			if snap == nil {
				c.t.Fatal("no answer")
			}
			if first.IsZero() {
				first = snap.ReadTime
			}
			if snap.ReadTime.Sub(first) > 5*time.Millisecond {
				return
			}
		}
	})
}

func TestClock(t *testing.T) {
	for _, tc := range []struct {
		name string
		off  time.Duration
		want []string
		says string
	}{
		{"right", 0, nil, "differs from the server's by less than 1s"},
		{"behind", -5 * time.Second, []string{"clock warn"}, "behind the server's: tokens seem not yet valid, a relay here tells lag as so much too short"},
		{"ahead", 5 * time.Second, []string{"clock warn"}, "ahead of the server's: tokens seem too old, a relay here tells lag as so much too long"},
		{"far behind", -time.Hour, []string{"clock fail"}, "behind the server's: tokens seem not yet valid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := complete(t)
			c.Now = func() time.Time { return time.Now().Add(tc.off) }
			r := c.examine()
			expect(t, r, tc.want...)
			if f := only(t, r, "clock", ""); !strings.Contains(f.Detail, tc.says) {
				t.Errorf("%q, want %q", f.Detail, tc.says)
			}
		})
	}
}

// A stand-in for the handler of claims needs no Firebase Auth.
func TestAStandInNeedsNoAuth(t *testing.T) {
	c := complete(t)
	c.Auth = blackHole(t)
	c.Catalog = func() (*contracts.Catalog, error) {
		catalog, err := contracts.DefaultCatalog()
		if err != nil {
			return nil, err
		}
		return catalog.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-notif-router"})
	}
	r := c.examine()
	expect(t, r)
	if f := only(t, r, "auth.lookup", ""); f.Result != doctor.Skip {
		t.Errorf("%+v", f)
	}
}
