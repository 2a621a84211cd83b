package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// clinic is a cloud in which records can be made to die: a broker that refuses
// them, consumers of everything, and a service with its admin API.
type clinic struct {
	t       *testing.T
	env     map[string]string
	catalog *contracts.Catalog
	docs    *dlqfirestore.Client
	broker  *brokerProxy
	url     string // of the service that was started last
	run     int64  // makes names of this clinic its own

	mu       sync.Mutex
	arrivals []arrival // messages as they arrived
	signals  []signalMessage
}

// arrival is one message at a consumer.
type arrival struct{ Topic, Target, EventType, Aggregate, Key, Replay, TraceID string }

// signalMessage is one message of token-refresh-signal, with the time of its
// arrival.
type signalMessage struct {
	Account, EventID, TriggeredBy string
	Version                       int64
	At                            time.Time
}

// openClinic makes topics and consumers. The service is started by serve.
func openClinic(t *testing.T) *clinic {
	t.Helper()
	at, env := anyCloud(t)
	return openClinicAt(t, at, env)
}

func openClinicAt(t *testing.T, at gcp.Place, env map[string]string) *clinic {
	t.Helper()
	c := &clinic{t: t, env: maps.Clone(env), docs: mustDialFirestore(t, at), broker: startBrokerProxy(t, at.PubSub), catalog: testCatalog(t), run: time.Now().UnixNano()}
	c.env[gcp.EnvPubSub], c.env["AUTH_MODE"] = c.broker.addr, "dev"
	c.env["CATALOG"] = hastyCatalog(t)
	c.env["STAND_IN"] = "CLAIMS_HANDLER=ier-claims-handler" // which the broker can refuse

	consume(t, at, "clinic", c.catalog.Topics(), func(topic string) bool { return topic != contracts.TopicMetrics }, c.arrived)
	return c
}

// hastyCatalog is the default catalog with little patience: failures come at
// once, what became of a record is written at once, and RoleChanged asks for two persons.
func hastyCatalog(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../contracts/default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "schemas"), os.DirFS("../../contracts/schemas")); err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for old, hasty := range map[string]string{
		"initial: 500ms":                  "initial: 10ms",
		"max: 10s":                        "max: 50ms",
		"delays: [5s, 30s, 2m, 10m, 30m]": "delays: [100ms, 100ms, 100ms, 100ms, 100ms]",
		"targets: [CLAIMS_HANDLER], schema: schemas/RoleChanged": "targets: [CLAIMS_HANDLER], twoPersonRule: true, schema: schemas/RoleChanged",
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the default catalog lacks %q", old)
		}
		text = strings.Replace(text, old, hasty, 1)
	}
	text = regexp.MustCompile(`settleLinger: \S+`).ReplaceAllString(text, "settleLinger: 1ms")
	file := filepath.Join(dir, "catalog.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (c *clinic) arrived(topic string, a map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if topic == contracts.TopicRefreshSignal {
		version, _ := strconv.ParseInt(a["claimsVersion"], 10, 64) // 0 fails the test that looks at it
		c.signals = append(c.signals, signalMessage{a["accountId"], a[contracts.AttrEventID], a["triggeredBy"], version, time.Now()})
		return
	}
	c.arrivals = append(c.arrivals, arrival{
		topic, a[contracts.AttrTarget], a[contracts.AttrEventType], a[contracts.AttrAggregateID],
		a[contracts.AttrIdempotencyKey], a[contracts.AttrReplay], a[contracts.AttrTraceID],
	})
}

// of lists what arrived of an aggregate, oldest first.
func (c *clinic) of(aggregate string) []arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.arrivals), func(a arrival) bool { return a.Aggregate != aggregate })
}

// serve starts the service as a process of its own.
func (c *clinic) serve() *child {
	c.t.Helper()
	service := startChild(c.t, c.env, serveArgs...)
	c.await(service.stderr)
	return service
}

// serveWithin starts the service within the test.
func (c *clinic) serveWithin() {
	c.t.Helper()
	c.await(startProgram(c.t, c.env, serveArgs...).stderr)
}

func (c *clinic) await(log *output) {
	c.t.Helper()
	c.url = "http://" + log.find(c.t, servingAddr)
	eventually(c.t, "the service answers", func() bool {
		status, _ := fetch(c.t, strings.TrimPrefix(c.url, "http://"), "/readyz")
		return status == 200
	})
}

// dlq runs a dlq command as somebody.
func (c *clinic) dlq(who string, args ...string) result {
	c.t.Helper()
	return runProgram(c.t, map[string]string{"OUTBOX_RELAY_URL": c.url, "OUTBOX_RELAY_TOKEN": "dev-" + who}, "", append([]string{"dlq"}, args...)...)
}

// mustDLQ is dlq for what has to succeed.
func (c *clinic) mustDLQ(who string, args ...string) string {
	c.t.Helper()
	got := c.dlq(who, args...)
	if got.code != shell.ExitOK {
		c.t.Fatalf("dlq %s as %s: %+v", strings.Join(args, " "), who, got)
	}
	return got.stdout
}

// item reads a dead letter over the command line.
func (c *clinic) item(id string) adminapi.Item {
	c.t.Helper()
	var i adminapi.Item
	if err := json.Unmarshal([]byte(c.mustDLQ("viewer", "show", "--json", id)), &i); err != nil {
		c.t.Fatal(err)
	}
	return i
}

// aggregate names an aggregate of this clinic.
func (c *clinic) aggregate(name string) string { return fmt.Sprintf("%s-%x", name, c.run) }

// eventTypes of the three tiers, with the outbox of each.
var ofTier = map[contracts.Tier][2]string{
	contracts.SafeAuto:       {"skillOutbox", "SkillXpAdded"},
	contracts.ReviewRequired: {"accOutbox", "WalletDeducted"},
	contracts.SecurityBlock:  {"accOutbox", "RoleChanged"},
}

// record makes version v of an aggregate, of the event type of a tier.
func (c *clinic) record(tier contracts.Tier, aggregate string, v int64) appender.Record {
	return c.recordOf(ofTier[tier][0], ofTier[tier][1], aggregate, v)
}

// append appends records.
func (c *clinic) append(records ...appender.Record) {
	c.t.Helper()
	if _, err := appender.Write(c.t.Context(), c.docs.Client, records); err != nil {
		c.t.Fatal(err)
	}
}

// key is a record's idempotency key.
// keyOf is a record's idempotency key.
func keyOf(r appender.Record) string { return r.Fields[contracts.FieldIdempotencyKey].(string) }

// dead appends a record that is refused and waits until it is a dead letter.
func (c *clinic) dead(tier contracts.Tier, aggregate string, v int64) (id string) {
	c.t.Helper()
	return c.refused(aggregate, c.record(tier, aggregate, v))
}

func (c *clinic) refused(aggregate string, rec appender.Record) (id string) {
	c.t.Helper()
	c.broker.refuse(aggregate)
	c.append(rec)
	id = dlq.ID(keyOf(rec))
	eventually(c.t, "the record is a dead letter", func() bool { return c.exists(contracts.CollectionDeadLetters, id) })
	return id
}

func (c *clinic) exists(collection, id string) bool {
	snap, err := c.docs.Collection(collection).Doc(id).Get(c.t.Context())
	return err == nil && snap.Exists()
}

// status is an outbox record's.
func (c *clinic) status(r appender.Record) contracts.Status {
	snap, err := c.docs.Collection(r.Outbox).Doc(r.ID).Get(c.t.Context())
	if err != nil {
		return ""
	}
	s, _ := snap.Data()[contracts.FieldStatus].(string)
	return contracts.Status(s)
}

// audited counts the audit entries about something, by action.
func (c *clinic) audited(on string) map[string]int {
	c.t.Helper()
	docs, err := c.docs.Collection(contracts.CollectionAudit).Where("on", "==", on).Documents(c.t.Context()).GetAll()
	if err != nil {
		c.t.Fatal(err)
	}
	got := map[string]int{}
	for _, d := range docs {
		got[fmt.Sprint(d.Data()["action"])]++
	}
	return got
}

// stands logs the documents of a dead letter as they stand: its own, its
// record's, and its aggregate's freeze and alerts. A report quotes them.
func (c *clinic) stands(when, id string) {
	c.t.Helper()
	show := func(snap *firestore.DocumentSnapshot) {
		fields := snap.Data()
		for _, long := range []string{contracts.DeadFieldRecord, contracts.FieldPayload} {
			if _, ok := fields[long]; ok {
				fields[long] = "..."
			}
		}
		text, err := json.Marshal(fields)
		if err != nil {
			c.t.Error(err)
		}
		c.t.Logf("%s: %s/%s %s", when, snap.Ref.Parent.ID, snap.Ref.ID, text)
	}
	get := func(path string) *firestore.DocumentSnapshot {
		snap, err := c.docs.Doc(path).Get(c.t.Context())
		if err != nil {
			return nil // it does not exist
		}
		show(snap)
		return snap
	}
	letter := get(contracts.CollectionDeadLetters + "/" + id)
	if letter == nil {
		c.t.Errorf("%s: there is no dead letter %s", when, id)
		return
	}
	path, _ := letter.Data()[contracts.DeadFieldRecordPath].(string)
	aggregate, _ := letter.Data()[contracts.FieldAggregateID].(string)
	get(path)
	get(contracts.CollectionFrozen + "/" + dlq.FreezeID(aggregate))
	for _, a := range c.alerts(id) {
		show(a)
	}
}

// alerts are those that stand for a dead letter.
func (c *clinic) alerts(id string) []*firestore.DocumentSnapshot {
	c.t.Helper()
	docs, err := c.docs.Collection(contracts.CollectionErrorLog).Documents(c.t.Context()).GetAll()
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.DeleteFunc(docs, func(d *firestore.DocumentSnapshot) bool { return d.Data()["deadLetter"] != id })
}
