package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// station is one of the instances of a clinic.
type station struct {
	*child
	name, url string
}

// station starts an instance of that name.
func (c *clinic) station(name string) *station {
	c.t.Helper()
	c.env["INSTANCE"] = name
	service := c.serve()
	return &station{service, name, c.url}
}

// at has the commands that follow asked at an instance.
func (c *clinic) at(s *station) { c.url = s.url }

// outboxes is the answer of the instance that is asked.
func (c *clinic) outboxes() admin.OutboxList {
	c.t.Helper()
	var list admin.OutboxList
	if code, body := c.ask("dev-viewer", "/admin/v1/outboxes"); code != http.StatusOK || json.Unmarshal(body, &list) != nil {
		c.t.Fatalf("/outboxes: %d %s", code, body)
	}
	return list
}

// pair starts two instances, with leases of a term, and waits until each tells
// that the outboxes are shared between them. The first leads, and owns accOutbox.
func (c *clinic) pair(term time.Duration) (first, second *station) {
	c.t.Helper()
	c.env[envLeaseTerm] = term.String()
	first = c.station("first")
	eventually(c.t, "the first owns all", func() bool { return c.owned("first") == 6 })
	second = c.station("second")
	for _, s := range []*station{first, second} {
		c.at(s)
		eventually(c.t, "the outboxes are shared", func() bool { return c.owned("first") == 3 && c.owned("second") == 3 })
	}
	return first, second
}

// owned is how many outboxes an instance has, by the one that is asked.
func (c *clinic) owned(name string) int {
	n := 0
	for _, o := range c.outboxes().Items {
		if o.Owner == name && o.Lease == "held" {
			n++
		}
	}
	return n
}

// Any instance tells of every outbox who owns it, since when, and how its lease
// stands; and takes every decision, whoever carries it out.
func TestE2EAnyInstanceWillDo(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	first, second := c.pair(standTerm)
	ask := func(s *station) admin.OutboxList {
		c.at(s)
		var list admin.OutboxList
		eventually(t, s.name+" tells that all is well", func() bool {
			list = c.outboxes()
			return !slices.ContainsFunc(list.Items, func(o admin.OutboxStatus) bool { return !o.Ready || o.Here != (o.Owner == s.name) })
		})
		return list
	}
	byFirst, bySecond := ask(first), ask(second)
	if byFirst.QueueOwner != "first" || bySecond.QueueOwner != "first" {
		t.Errorf("the queue's owner is %q and %q, want the first by both", byFirst.QueueOwner, bySecond.QueueOwner)
	}
	for i, o := range byFirst.Items {
		other := bySecond.Items[i]
		// One tells the commit's time, the other the server timestamp in it.
		apart := o.Since.Sub(other.Since).Abs()
		if o.Outbox != other.Outbox || o.Owner != other.Owner || o.Since.IsZero() || other.Since.IsZero() || apart > time.Minute ||
			o.Lease != "held" || other.Lease != "held" || o.Shards != 1 {
			t.Errorf("the first tells %+v, the second %+v", o, other)
		}
	}
	c.replayElsewhere(second)
	c.bulkElsewhere(second)
	c.freezeElsewhere(second, first)
}

// replayElsewhere asks for a replay at an instance that does not own its outbox.
func (c *clinic) replayElsewhere(at *station) {
	c.t.Helper()
	aggregate := c.aggregate("one")
	id := c.dead(contracts.ReviewRequired, aggregate, 1)
	c.broker.accept()
	c.at(at)
	c.mustDLQ("operator", "replay", id, "--wait", "--reason", "mended")
	eventually(c.t, "it has arrived", func() bool { return len(c.of(aggregate)) > 0 })
	if got := c.of(aggregate); len(got) != 1 || got[0].Replay == "" {
		c.t.Errorf("one replay arrived as %+v", got)
	}
}

// bulkElsewhere asks for a bulk replay at an instance that does not lead.
func (c *clinic) bulkElsewhere(at *station) {
	c.t.Helper()
	const size = 20
	c.deadTogether("bulk", size)
	c.at(at)
	bulk := c.bulk(size)
	c.bulkEnds(bulk.ID, size)
	for key, n := range c.replays("bulk") {
		if n != 1 {
			c.t.Errorf("%s was replayed %d times", key, n)
		}
	}
}

// freezeElsewhere has an account frozen and released. Its alert is told once,
// and its held records come once, though two instances run.
func (c *clinic) freezeElsewhere(at, other *station) {
	c.t.Helper()
	account := c.aggregate("account")
	id := c.dead(contracts.SecurityBlock, account, 1)
	c.broker.accept()
	for _, s := range []*station{at, other} { // each hears of it by a listener of its own
		eventually(c.t, s.name+" knows of the freeze", func() bool {
			_, body := fetch(c.t, strings.TrimPrefix(s.url, "http://"), "/metrics")
			return strings.Contains(body, "\nrelay_frozen_aggregates 1\n")
		})
	}
	held := []appender.Record{c.record(contracts.SecurityBlock, account, 2), c.record(contracts.SafeAuto, account, 1)}
	c.append(held...)
	for _, r := range held {
		eventually(c.t, "a later record is held", func() bool { return c.status(r) == contracts.Held })
	}
	c.at(at)
	c.mustDLQ("security", "authorize", id, "--reason", "checked")
	c.mustDLQ("security-2", "replay", id, "--wait", "--reason", "second person")
	c.mustDLQ("security", "release", account, "--reason", "mended")
	eventually(c.t, "the freeze is gone", func() bool { return !c.exists(contracts.CollectionFrozen, dlq.FreezeID(account)) })
	eventually(c.t, "what was held has arrived", func() bool { return len(c.delivered(account)) >= 3 })
	if got := c.delivered(account); len(got) != 3 {
		c.t.Errorf("the account's records arrived as %+v, want each once", got)
	}
	alerts := slices.DeleteFunc(c.of(account), func(a arrival) bool { return a.Topic != contracts.TopicErrors })
	if len(alerts) != 1 {
		c.t.Errorf("%d alerts, want one", len(alerts))
	}
}

// The leader is killed in the middle of a bulk replay. The other goes on with
// it, and replays nothing that had been replayed.
func TestE2EBulkReplayChangesHands(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t) // where TestE2EBulkReplaySurvivesKills runs
	c := openClinic(t)
	first, second := c.pair(5 * time.Second)
	const size = 120
	c.deadTogether("handed", size)
	c.at(second)
	bulk := c.bulk(size)
	eventually(t, "a part of it is replayed", func() bool { return len(c.replays("handed")) >= size/4 })
	first.signal(t, syscall.SIGKILL)
	first.wait(t)
	replayed := c.replayed()
	bulk = c.bulkEnds(bulk.ID, size)
	if list := c.outboxes(); list.QueueOwner != "second" {
		t.Errorf("the queue's owner is %q, want the second", list.QueueOwner)
	}
	twice := 0
	for key, n := range c.replays("handed") {
		if n > 1 {
			twice++
			if replayed[key] {
				t.Errorf("%s was replayed %d times, though it had been replayed when the leader was killed", key, n)
			}
		}
	}
	t.Logf("bulk replay of %d, its leader killed when %d were through: %d delivered, %d arrived twice", size, len(replayed), bulk.Delivered, twice)
}

// deadTogether makes dead letters that a bulk replay may take.
func (c *clinic) deadTogether(name string, n int) {
	c.t.Helper()
	var records []appender.Record
	c.broker.refuseAll()
	for i := range n {
		records = append(records, c.record(contracts.ReviewRequired, c.aggregate(fmt.Sprintf("%s-%d", name, i)), 1))
	}
	c.append(records...)
	for _, r := range records {
		eventually(c.t, "the record is a dead letter", func() bool { return c.exists(contracts.CollectionDeadLetters, dlq.ID(keyOf(r))) })
	}
	c.broker.accept()
}

// bulk begins a bulk replay of all that awaits review.
func (c *clinic) bulk(size int) adminapi.Bulk {
	c.t.Helper()
	begun := c.mustDLQ("operator", "bulk", "--event-type", "WalletDeducted", "--rate", "100", "--reason", "mended", "--yes", "--no-follow", "--json")
	var bulk adminapi.Bulk
	if err := json.Unmarshal([]byte(begun), &bulk); err != nil || bulk.Total != size {
		c.t.Fatalf("bulk replay: %v, %+v", err, bulk)
	}
	return bulk
}

// bulkEnds waits until a bulk replay is through, with all of it delivered.
func (c *clinic) bulkEnds(id string, size int) adminapi.Bulk {
	c.t.Helper()
	var bulk adminapi.Bulk
	patiently(c.t, "the bulk replay has ended", 2*testPatience, 50*time.Millisecond, func() bool {
		code, body := c.ask("dev-operator", "/admin/v1/replays/"+id)
		return code == http.StatusOK && json.Unmarshal(body, &bulk) == nil && bulk.Ended()
	})
	if bulk.State != dlq.BulkDone || bulk.Delivered != size {
		c.t.Errorf("at its end: %+v", bulk)
	}
	return bulk
}

// replays counts the replays that arrived of the aggregates of a name, by
// idempotency key.
func (c *clinic) replays(name string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for _, a := range c.arrivals {
		if a.Replay != "" && strings.HasPrefix(a.Aggregate, name+"-") {
			out[a.Key]++
		}
	}
	return out
}

// replayed are the dead letters that stand as replayed, by idempotency key.
func (c *clinic) replayed() map[string]bool {
	c.t.Helper()
	docs, err := c.docs.Collection(contracts.CollectionDeadLetters).Where(contracts.DeadFieldState, "==", string(contracts.DeadReplayed)).Documents(c.t.Context()).GetAll()
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]bool{}
	for _, d := range docs {
		key, _ := d.Data()[contracts.FieldIdempotencyKey].(string)
		out[key] = true
	}
	return out
}
