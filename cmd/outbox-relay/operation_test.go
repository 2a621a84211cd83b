package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq/admin"
)

// operation is a cloud on which a procedure of docs/OPERATIONS.md is carried out:
// a fleet whose instances, and whose producers, each have their own catalog. What
// it logs is what the document quotes.
type operation struct {
	*fleet
	cloud *embedded // nil on Google's emulators
	seen  int64     // makes names of this operation its own
}

// openOperation makes topics and consumers of a catalog.
func openOperation(t *testing.T, catalog *contracts.Catalog) *operation {
	t.Helper()
	var cloud *embedded
	var at gcp.Place
	var env map[string]string
	if os.Getenv(googleFirestore) == "" {
		cloud = startCloud(t)
		at, env = cloud.at, cloud.env
	} else {
		at, env = anyCloud(t)
	}
	o := &operation{fleet: openFleetAt(t, at, env, catalog, standTerm), cloud: cloud, seen: time.Now().UnixNano()}
	o.env["AUTH_MODE"] = "dev"
	o.env["SWEEP_INTERVAL"], o.env["SWEEP_AGE"] = "1s", "3s"
	return o
}

// versions makes records of one event type: of several aggregates in turn, each
// with ascending versions.
func (o *operation) versions(by *contracts.Catalog, outbox, eventType string, aggregates int) func(n int) *contracts.Record {
	random := rand.New(rand.NewPCG(o.random.Uint64(), 0))
	return func(n int) *contracts.Record {
		aggregate := fmt.Sprintf("%s-%x-%d", eventType, o.seen, n%aggregates)
		return sampleOf(by, random, outbox, eventType, aggregate, int64(n/aggregates)+1)
	}
}

// want judges what has arrived at the end of a procedure: everything, once, in
// order across lanes, and no dead letter.
func (o *operation) want(deadLetters int) {
	o.t.Helper()
	got := o.arrive()
	dead := o.dead()
	o.t.Logf("%d records, %d messages: %d lost, %d delivered twice, %d out of order, %d dead letters; longest from append to arrival %v",
		got.Records, got.Messages, got.Missing, got.Duplicates, got.Disordered, dead, got.Longest.Round(time.Millisecond))
	if got.Missing+got.Duplicates+got.Disordered > 0 || dead != deadLetters {
		o.t.Errorf("want every record once and in order, and %d dead letters; out of order: %v", deadLetters, o.disorder())
	}
}

// dead counts the dead letters.
func (o *operation) dead() int {
	o.t.Helper()
	docs, err := o.docs.Collection(contracts.CollectionDeadLetters).Select().Documents(o.t.Context()).GetAll()
	if err != nil {
		o.t.Fatal(err)
	}
	return len(docs)
}

// waiting counts an outbox's records of a status, canaries apart.
func (o *operation) waiting(outbox string, s contracts.Status) int {
	o.t.Helper()
	docs, err := o.docs.Collection(outbox).Where(contracts.FieldStatus, "==", string(s)).Documents(o.t.Context()).GetAll()
	if err != nil {
		o.t.Fatal(err)
	}
	return len(slices.DeleteFunc(docs, func(d *firestore.DocumentSnapshot) bool { return strings.HasPrefix(d.Ref.ID, "!relay-canary.") }))
}

// roll lets new instances take over from old ones, as a rolling deployment does:
// the new ones are ready before the first old one is told to stop.
func (o *operation) roll(old []*instance, names []string, settings ...string) (started []*instance) {
	o.t.Helper()
	for _, name := range names {
		started = append(started, o.start(name, settings...))
	}
	for _, i := range old {
		i.signal(o.t, syscall.SIGTERM)
		if code := i.wait(o.t); code != shell.ExitOK {
			o.t.Errorf("%s ended with exit code %d", i.name, code)
		}
	}
	return started
}

// ask runs a command against an instance, and logs what it prints.
func (o *operation) ask(i *instance, who string, args ...string) result {
	o.t.Helper()
	got := runProgram(o.t, map[string]string{"OUTBOX_RELAY_URL": "http://" + i.addr, "OUTBOX_RELAY_TOKEN": "dev-" + who}, "", args...)
	o.t.Logf("$ outbox-relay %s\n%s%s", shown(args), got.stdout, got.stderr)
	return got
}

// shown is a command line as somebody types it.
func shown(args []string) string {
	words := slices.Clone(args)
	for n, w := range words {
		if strings.ContainsAny(w, " *'") {
			words[n] = "'" + w + "'"
		}
	}
	return strings.Join(words, " ")
}

// mustAsk is ask for what has to succeed.
func (o *operation) mustAsk(i *instance, who string, args ...string) string {
	o.t.Helper()
	got := o.ask(i, who, args...)
	if got.code != shell.ExitOK {
		o.t.Fatalf("exit code %d", got.code)
	}
	return got.stdout
}

// backlog is what /admin/v1/outboxes tells of each outbox's pending records.
func (o *operation) backlog(i *instance) map[string]int64 {
	o.t.Helper()
	c := &clinic{t: o.t, url: "http://" + i.addr}
	var list admin.OutboxList
	if code, body := c.ask("dev-viewer", "/admin/v1/outboxes"); code != 200 || json.Unmarshal(body, &list) != nil {
		o.t.Fatalf("/outboxes: %d %s", code, body)
	}
	out := make(map[string]int64)
	for _, item := range list.Items {
		if item.Pending != nil {
			out[item.Outbox] += *item.Pending
		}
	}
	return out
}

// metric is a sample of an instance's /metrics, named with its labels; "" where
// there is none.
func (i *instance) metric(series string) string {
	i.t.Helper()
	_, body := fetch(i.t, i.addr, "/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// change is an operation whose catalog changes on the way.
type change struct {
	*operation
	before, after *contracts.Catalog
	changed       string // the setting that gives an instance the catalog after
}

// openChange is an operation on the default catalog, which changes to one with
// passages replaced.
func openChange(t *testing.T, passages ...string) *change {
	t.Helper()
	thorough.NotOnGoogle(t)
	file, after := variant(t, passages...)
	_, before := variant(t)
	return &change{openOperation(t, before), before, after, "CATALOG=" + file}
}

// variant is the default catalog with passages replaced, as a file and loaded,
// with a topic for claims.
func variant(t *testing.T, passages ...string) (file string, catalog *contracts.Catalog) {
	t.Helper()
	file = edited(t, "../../contracts/default.yaml", passages...)
	loaded, err := loadCatalog(file)
	if err != nil {
		t.Fatal(err)
	}
	if catalog, err = (standInFlags{StandIn: []string{"CLAIMS_HANDLER=ier-claims-handler"}}).apply(loaded); err != nil {
		t.Fatal(err)
	}
	return file, catalog
}

// edited copies a catalog, with its schemas, and replaces passages of it.
func edited(t *testing.T, catalog string, passages ...string) (file string) {
	t.Helper()
	data, err := os.ReadFile(catalog)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for n := 0; n < len(passages); n += 2 {
		if !strings.Contains(text, passages[n]) {
			t.Fatalf("the catalog lacks %q", passages[n])
		}
		text = strings.Replace(text, passages[n], passages[n+1], 1)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "schemas"), os.DirFS("../../contracts/schemas")); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "catalog.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
