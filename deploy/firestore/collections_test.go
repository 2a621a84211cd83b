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
)

var update = flag.Bool("update", false, "rewrite testdata/collections.json")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collections is what testdata/collections.json holds.
type collections struct {
	Outboxes []string `json:"outboxes"` // of the built-in catalog
	Own      []string `json:"own"`      // of the service
}

func inCode(t *testing.T) collections {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	out := collections{Own: contracts.Collections()}
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

// The list is what keeps a project's own wildcard rule away from the relay's data.
func TestTheRulesNameEveryCollection(t *testing.T) {
	rules, err := os.ReadFile("firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)function ofTheRelay\(collection\) \{\s*return collection in \[(.*?)\]`).FindSubmatch(rules)
	if list == nil {
		t.Fatal("firestore.rules holds no list in a function ofTheRelay")
	}
	var got []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllSubmatch(list[1], -1) {
		got = append(got, string(m[1]))
	}
	code := inCode(t)
	for _, name := range slices.Concat(code.Outboxes, code.Own) {
		if !slices.Contains(got, name) {
			t.Errorf("ofTheRelay in firestore.rules lacks %s", name)
		}
	}
}
