package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
)

// TestCloudRefusesQueriesWithoutAnIndex: by the catalog's indexes, or by a file's.
func TestCloudRefusesQueriesWithoutAnIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	sharded := write("catalog.yaml", `targets:
  INDEX: {kind: pubsub, topic: tag-index}
outboxes:
  - {name: tagOutbox, slice: tags, shards: 3, events: [{type: TagMade, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [INDEX]}]}
`)
	orders := write("firestore.indexes.json", `{"indexes":[{"collectionGroup":"orders","queryScope":"COLLECTION","fields":[`+
		`{"fieldPath":"state","order":"ASCENDING"},{"fieldPath":"at","order":"DESCENDING"}]}],"fieldOverrides":[]}`)
	for _, tc := range []struct {
		name                string
		args                []string
		lane, shard, orders codes.Code
	}{
		{"built-in catalog", nil, codes.OK, codes.FailedPrecondition, codes.FailedPrecondition},
		{"catalog of one's own", []string{"--catalog", sharded}, codes.FailedPrecondition, codes.OK, codes.FailedPrecondition},
		{"file", []string{"--indexes", orders}, codes.FailedPrecondition, codes.FailedPrecondition, codes.OK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cloud := startProgram(t, nil, append([]string{"cloud", "--firestore", "127.0.0.1:0", "--pubsub", "127.0.0.1:0", "--auth", "127.0.0.1:0"}, tc.args...)...)
			at := gcp.Place{
				Project: testProject, Database: firestore.DefaultDatabaseID,
				Firestore: cloud.stdout.find(t, `(?m)^FIRESTORE_EMULATOR_HOST=(\S+)$`),
			}
			db := mustDialFirestore(t, at)
			pending := db.Collection("tagOutbox").Where("status", "==", "pending").Where("lane", "==", "x")
			for what, ask := range map[string]struct {
				query firestore.Query
				want  codes.Code
			}{
				"a lane":              {pending.OrderBy("createdAt", firestore.Asc), tc.lane},
				"a lane of a shard":   {pending.Where("shard", "==", 1).OrderBy("createdAt", firestore.Asc), tc.shard},
				"one's own documents": {db.Collection("orders").Where("state", "==", "x").OrderBy("at", firestore.Desc), tc.orders},
			} {
				if _, err := ask.query.Documents(t.Context()).GetAll(); status.Code(err) != ask.want {
					t.Errorf("%s: %v, want %v", what, err, ask.want)
				}
			}
		})
	}
}

func TestCloudRefusesABadIndexFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "firestore.indexes.json")
	if err := os.WriteFile(file, []byte(`{"indexes":[{"collectionGroup":"orders"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, want string }{
		{file, `composite index on "orders": it needs`},
		{file + ".missing", "no such file"},
	} {
		got := runProgram(t, nil, "", "cloud", "--firestore", "127.0.0.1:0", "--pubsub", "127.0.0.1:0", "--auth", "127.0.0.1:0", "--indexes", tc.file)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, tc.want) {
			t.Errorf("%+v, want exit code %d and %q", got, shell.ExitUsage, tc.want)
		}
	}
}
