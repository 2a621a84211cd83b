// Package firestore_test keeps the security rules, and what their own tests in
// Node read, in step with the collections that the code uses.
package firestore_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"outboxrelay/contracts"
	inbox "outboxrelay/contracts/inbox/firestore"
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

var update = flag.Bool("update", false, "rewrite testdata/collections.json")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// collections is what testdata/collections.json holds.
type collections struct {
	Outboxes []string `json:"outboxes"` // of the built-in catalog
	Own      []string `json:"own"`      // of the service, and of consumers' inboxes
	// Of the work queues: beneath the database, and beneath a condominium.
	Queues  []string `json:"queues"`
	Tenants []string `json:"tenants"`
}

func inCode(t *testing.T) collections {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	out := collections{
		Own:    append(contracts.Collections(), inbox.Collection),
		Queues: []string{outbox.DomainEvents, outbox.Jobs, jobs.InAppMessages},
		Tenants: []string{
			notifications.CollectionEvents, notifications.CollectionQueue, notifications.CollectionDeadLetters, notifications.CollectionDedupe,
			notifications.CollectionStats, notifications.CollectionUsers,
		},
	}
	for _, o := range catalog.Outboxes {
		out.Outboxes = append(out.Outboxes, o.Name)
	}
	return out
}

func TestTheMatrixCoversEveryCollection(t *testing.T) {
	const file = "testdata/collections.json"
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", "  ")
	if err := enc.Encode(inCode(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s(go test ./deploy/firestore -update rewrites it)", file, diff)
	}
}

// The lists are what keeps a project's own wildcard rules away from the relay's data.
func TestTheRulesNameEveryCollection(t *testing.T) {
	rules, err := os.ReadFile("firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	code := inCode(t)
	for function, want := range map[string][]string{
		"ofTheRelay": slices.Concat(code.Outboxes, code.Own, code.Queues, []string{"clients"}), "ofTheNotifications": code.Tenants,
	} {
		list := regexp.MustCompile(`(?s)function ` + function + `\(collection\) \{\s*return collection in \[(.*?)\]`).FindSubmatch(rules)
		if list == nil {
			t.Fatalf("firestore.rules holds no list in a function %s", function)
		}
		var got []string
		for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllSubmatch(list[1], -1) {
			got = append(got, string(m[1]))
		}
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s in firestore.rules lacks %s", function, name)
			}
		}
	}
}

// What a client may say of an event is what the contract has, and nothing of the relay's.
func TestTheRulesKnowTheEventsFields(t *testing.T) {
	rules, err := os.ReadFile("firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)function isEvent\(e\) \{.*?hasOnly\(\[(.*?)\]`).FindSubmatch(rules)
	if list == nil {
		t.Fatal("firestore.rules holds no list in a function isEvent")
	}
	v := (&notifications.Handler{}).Vocabulary()
	for _, field := range []string{v.Fields.Attempts, v.Fields.Due, v.Fields.LockUntil, v.Fields.Owner, v.Fields.LastError, v.Fields.LastErrorCode} {
		if field == "" || bytes.Contains(list[1], []byte("'"+field+"'")) {
			t.Errorf("a client may write %q, which is the relay's", field)
		}
	}
	for _, field := range []string{v.Fields.Status, v.Fields.CreatedAt} {
		if !bytes.Contains(list[1], []byte("'"+field+"'")) {
			t.Errorf("a client may not write %q", field)
		}
	}
}
