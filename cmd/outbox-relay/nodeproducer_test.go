package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/contracts/node/nodetest"
	"outboxrelay/deploy/local/thorough"
)

// What a producer in Node appends with the generated TypeScript, of every event type
// of the catalog, is delivered: none of it becomes a dead letter.
func TestE2EEventsFromNodeAreDelivered(t *testing.T) {
	thorough.Long(t) // it is npm and Node that take it
	const dir = root + "/contracts/node"
	out := nodetest.Build(t, dir)
	at, env := anyCloud(t)
	catalog, client := testCatalog(t), mustDialFirestore(t, at).Client
	arrived := collectArrivals(t, at, catalog)
	service := startProgram(t, env, serveArgs...)
	service.stderr.find(t, servingAddr)

	golden, err := filepath.Abs(root + "/contracts/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	nodeEnv := []string{gcp.EnvFirestore + "=" + at.Firestore, "GOOGLE_CLOUD_PROJECT=" + at.Project}
	appended := strings.Split(strings.TrimSpace(nodetest.Run(t, out, nodeEnv, filepath.Join(out, "test", "deliver.js"), golden)), "\n")
	if len(appended) < 20 {
		t.Fatalf("node appended %d events: %v", len(appended), appended)
	}
	for _, line := range appended {
		var event struct{ Outbox, EventType, Key, TraceID string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		arrived.await(t, catalog, event.Outbox, event.EventType, event.Key)
		for _, target := range catalog.Outbox(event.Outbox).Route(event.EventType).Targets {
			if got := arrived.at(event.Key, target); got[contracts.AttrTraceID] != event.TraceID {
				t.Errorf("%s arrived at %s as %v", line, target, got)
			}
		}
	}
	if dead := documents(t, client, contracts.CollectionDeadLetters); len(dead) > 0 {
		t.Errorf("%d of %d became dead letters: %v", len(dead), len(appended), dead)
	}
}
