package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"outboxrelay/contracts/node/nodetest"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/deploy/local/thorough"
)

// nodeDir is from where Node finds its packages.
const nodeDir = root + "/contracts/node"

// runJavaScript runs a module in Node and returns what it prints.
func runJavaScript(t *testing.T, env []string, module string) string {
	t.Helper()
	return nodetest.Run(t, nodeDir, env, "--input-type=module", "-e", module)
}

// The queries of docs/QUEUES.md need no index but those of firestore.indexes.json, without which the
// embedded Firestore refuses them, and find what no queue knows.
func TestQueriesOfTheQueuesPage(t *testing.T) {
	thorough.Long(t) // it is Node that takes it
	nodetest.Installed(t, nodeDir)
	_, address := firestoretest.Start(t, firestore.Options{})
	env := []string{"FIRESTORE_EMULATOR_HOST=" + address, "GOOGLE_CLOUD_PROJECT=p-" + uuid.NewString()[:8]}
	const head = "import { Firestore, FieldValue } from '@google-cloud/firestore'; const db = new Firestore();\n"
	const before = head + `
const job = (status) => ({ jobType: 'notification_dispatch', orgId: 'o', createdAt: FieldValue.serverTimestamp(), ...(status && { status }) });
for (const status of ['pending', 'sent', 'dead', 'pendign', undefined]) await db.doc('outbox/' + status).set(job(status));
for (const status of ['emitted', 'pending_dispach']) await db.doc('clients/C/condominiums/D/notificationEvents/' + status).set({ status });
`
	blocks := fenced(pages(t)["docs/QUEUES.md"], "js")
	got := runJavaScript(t, env, before+strings.Join(blocks, "")+"await db.terminate();")
	const byType = `notification_dispatch pending 1
notification_dispatch processing 0
notification_dispatch sent 1
notification_dispatch failed 0
notification_dispatch dead 1
`
	const odd = `outbox/pendign pendign
clients/C/condominiums/D/notificationEvents/pending_dispach pending_dispach
outbox/undefined
`
	if diff := cmp.Diff(byType+odd, got); diff != "" {
		t.Errorf("what the queries find (-want +got):\n%s", diff)
	}

	// An administrator of an organization asks for its jobs alone.
	const all, ofOne = "db.collection('outbox')", "db.collection('outbox').where('orgId', '==', 'o')"
	of := strings.ReplaceAll(strings.Join(blocks[:2], ""), all, ofOne)
	if got := runJavaScript(t, env, head+of+"await db.terminate();"); got != byType {
		t.Errorf("of one organization the queries find:\n%s", got)
	}
	of = strings.ReplaceAll(blocks[0]+"try { "+blocks[2]+"} catch (error) { console.log(error.code) }", all, ofOne)
	if got := runJavaScript(t, env, head+of+"await db.terminate();"); got != "9\n" {
		t.Errorf("strange statuses of one organization: %s, want FAILED_PRECONDITION (9), as the page says that it needs an index", got)
	}
}

// The function of contracts/README.md computes the shards of testdata/shards.json.
func TestShardsOfTheContractsPage(t *testing.T) {
	nodetest.Installed(t, nodeDir)
	const after = `
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
const table = JSON.parse(readFileSync('../testdata/shards.json', 'utf8'));
for (const { aggregateId, shards, shard } of table) assert.equal(shardOf(aggregateId, shards), shard, aggregateId);
console.log(table.length > 10);
`
	if got := runJavaScript(t, nil, strings.Join(fenced(pages(t)["contracts/README.md"], "js"), "")+after); got != "true\n" {
		t.Errorf("the table has too few IDs: %s", got)
	}
}
