package node_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/contracts/node"
	"outboxrelay/contracts/node/nodetest"
	"outboxrelay/deploy/local/thorough"
)

// judge prints, for each number, whether an event with it is accepted.
const judge = `
import { Firestore } from '@google-cloud/firestore';
import { Outbox } from './outbox.js';
const events = new Outbox(new Firestore({ projectId: 'nowhere' }));
const accepted = (x: number) => {
  try {
    return events.records({ type: 'paid', aggregateId: 'a', aggregateVersion: 1, payload: { x } }).length === 1;
  } catch (error) {
    if (!/payload.x is not a multiple of 0.01$/.test(String(error))) throw error;
    return false;
  }
};
console.log(JSON.stringify((JSON.parse(process.argv[2]!) as number[]).map(accepted)));
`

// An amount is a multiple of a cent for a producer if it is for the relay.
func TestMultiplesAreTheRelays(t *testing.T) {
	thorough.Long(t) // it is npm and Node that take it
	const text = `
targets: {T: {kind: pubsub, topic: a-topic}}
outboxes: [{name: box, slice: s, events: [{type: paid, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}]}]
`
	files := fstest.MapFS{"s.json": {Data: []byte(`{"type": "object", "properties": {"x": {"type": "number", "multipleOf": 0.01}}}`)}}
	catalog, err := contracts.ParseCatalog("catalog.yaml", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	numbers := []float64{0, 1, -1, 0.29, 1.1, 19.99, -19.99, 19.995, 0.001, 1e-7, 1152921504606846976, 123456789012.34, 123456789012.345, 1e21, 1e300}
	want := make([]bool, len(numbers))
	for i, x := range numbers {
		want[i] = catalog.Outboxes[0].Events[0].Schema.Validate(map[string]any{"x": x}) == nil
	}
	said, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	if err := json.Unmarshal([]byte(runWith(t, catalog, judge, string(said))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of %v are accepted (-by the relay +by the producer):\n%s", numbers, diff)
	}
}

// runWith runs a program beside the TypeScript of a catalog, outbox.ts, and returns what it prints.
func runWith(t *testing.T, catalog *contracts.Catalog, program string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	packages, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.ts":       program,
		"package.json":  `{"type": "module"}`,
		"tsconfig.json": `{"compilerOptions": {"target": "es2022", "module": "nodenext", "lib": ["es2024"], "types": ["node"], "strict": true, "skipLibCheck": true, "rootDir": "."}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	generated, err := os.Create(filepath.Join(dir, "outbox.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Generate(generated, catalog); err != nil {
		t.Fatal(err)
	}
	if err := generated.Close(); err != nil {
		t.Fatal(err)
	}
	return nodetest.Run(t, dir, nil, append([]string{filepath.Join(nodetest.Build(t, dir), "main.js")}, args...)...)
}
