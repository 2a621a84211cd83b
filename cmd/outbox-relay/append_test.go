package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// lineTrace is the trace of the lines below.
const lineTrace = "0af7651916cd43dd8448eb211c80319c"

// line is a sound record of accOutbox as JSON, changed as a test likes.
func line(t *testing.T, n int, change func(map[string]any)) string {
	t.Helper()
	eventID := fmt.Sprintf("0b0e5f3a-6d4c-4c5e-9f7b-%012d", n)
	fields := map[string]any{
		"eventId": eventID, "eventType": "WalletCredited", "aggregateId": "acc-1", "aggregateVersion": n,
		"idempotencyKey": contracts.IdempotencyKey(eventID, "acc-1", int64(n)), "traceId": lineTrace,
		"lane": "CRITICAL_LANE", "dlqTier": "REVIEW_REQUIRED", "occurredAt": "2026-01-02T03:04:05Z",
		"payload": map[string]any{"amount": 5},
	}
	change(fields)
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func sound(map[string]any) {}

// documents reads an outbox, by document ID.
func documents(t *testing.T, client *firestore.Client, outbox string) map[string]map[string]any {
	t.Helper()
	snaps, err := client.Collection(outbox).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, s := range snaps {
		out[s.Ref.ID] = s.Data()
	}
	return out
}

func TestAppendSamples(t *testing.T) {
	cloud := startCloud(t)
	client, catalog := mustDialFirestore(t, cloud.at).Client, testCatalog(t)
	got := runProgram(t, cloud.env, "", "append", "--outbox", "schedOutbox", "--samples", "250", "--aggregates", "7")
	want := result{stdout: "appended 250 records, 0 were there already\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Fatalf("append (-want +got):\n%s", diff)
	}
	docs := documents(t, client, "schedOutbox")
	if len(docs) != 250 {
		t.Errorf("%d documents, want 250", len(docs))
	}
	aggregates := map[any]bool{}
	for id, fields := range docs {
		rec, faults := contracts.DecodeRecord("schedOutbox", id, fields)
		if checked := catalog.Check(rec, faults); checked.Faults.Err() != nil {
			t.Errorf("sample %s: %v", id, checked.Faults)
		}
		if id != contracts.DocumentID(rec.IdempotencyKey) {
			t.Errorf("document ID %s is not the idempotency key %s", id, rec.IdempotencyKey)
		}
		aggregates[rec.AggregateID] = true
	}
	if len(aggregates) != 7 {
		t.Errorf("%d aggregates, want 7", len(aggregates))
	}
}

func TestAppendingASeedTwiceIsANoOp(t *testing.T) {
	cloud := startCloud(t)
	for _, seed := range []string{"1", "0"} {
		args := []string{"append", "--outbox", "accOutbox", "--seed", seed, "--samples"}
		if got := runProgram(t, cloud.env, "", append(args, "5")...); got.stdout != "appended 5 records, 0 were there already\n" {
			t.Errorf("first append of seed %s: %+v", seed, got)
		}
		if got := runProgram(t, cloud.env, "", append(args, "8")...); got.stdout != "appended 3 records, 5 were there already\n" {
			t.Errorf("second append of seed %s: %+v", seed, got)
		}
	}
}

func TestSamplesAreNoMoreThanMemoryHolds(t *testing.T) {
	for _, samples := range []string{"1000001", "9000000000000000000"} {
		got := runProgram(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}, "", "append", "--outbox", "accOutbox", "--samples", samples)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, "--samples is "+samples+", want 1000000 at most") {
			t.Errorf("%+v", got)
		}
	}
}

func TestAppendLines(t *testing.T) {
	t.Parallel()
	lines := line(t, 1, sound) + "\n\n" + line(t, 2, func(f map[string]any) {
		f["outbox"], f["eventType"], f["lane"] = "wsOutbox", "WorkspaceRenamed", "STANDARD_LANE"
	}) + "\n"
	file := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ arg, stdin string }{
		"from a file":         {file, ""},
		"from standard input": {"-", lines},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			client := mustDialFirestore(t, cloud.at).Client
			before := time.Now().Add(-time.Minute)
			got := runProgram(t, cloud.env, tc.stdin, "append", "--outbox", "accOutbox", tc.arg)
			if got.code != shell.ExitOK || got.stdout != "appended 2 records, 0 were there already\n" {
				t.Fatalf("append: %+v", got)
			}
			if got := len(documents(t, client, "wsOutbox")); got != 1 {
				t.Errorf("%d documents in the outbox that the line names, want 1", got)
			}
			for _, fields := range documents(t, client, "accOutbox") {
				if at, ok := fields["createdAt"].(time.Time); !ok || at.Before(before) {
					t.Errorf("createdAt is %v, want the server's time", fields["createdAt"])
				}
				delete(fields, "createdAt")
				want := map[string]any{
					"eventId": "0b0e5f3a-6d4c-4c5e-9f7b-000000000001", "eventType": "WalletCredited", "aggregateId": "acc-1",
					"aggregateVersion": int64(1), "idempotencyKey": "0b0e5f3a-6d4c-4c5e-9f7b-000000000001:acc-1:1", "traceId": lineTrace,
					"lane": "CRITICAL_LANE", "dlqTier": "REVIEW_REQUIRED", "occurredAt": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
					"payload": map[string]any{"amount": int64(5)}, "status": "pending",
				}
				if diff := cmp.Diff(want, fields); diff != "" {
					t.Errorf("document (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// More than Firestore takes in one commit goes in several.
func TestAppendLargeRecords(t *testing.T) {
	cloud := startCloud(t)
	client := mustDialFirestore(t, cloud.at).Client
	const records = 16
	var lines strings.Builder
	for i := range records {
		lines.WriteString(line(t, i+1, func(f map[string]any) {
			f["outbox"], f["eventType"], f["lane"] = "wsOutbox", "WorkspaceRenamed", "STANDARD_LANE"
			f["payload"] = map[string]any{"text": strings.Repeat("x", 900<<10)}
		}) + "\n")
	}
	got := runProgram(t, cloud.env, lines.String(), "append", "-")
	if want := fmt.Sprintf("appended %d records, 0 were there already\n", records); got.code != shell.ExitOK || got.stdout != want {
		t.Fatalf("append: %+v", got)
	}
	if got := len(documents(t, client, "wsOutbox")); got != records {
		t.Errorf("%d documents, want %d", got, records)
	}
}

func TestAppendRefusesBadLines(t *testing.T) {
	t.Parallel()
	payload := func(v map[string]any) func(map[string]any) { return func(f map[string]any) { f["payload"] = v } }
	lines := "\ufeff" + strings.Join([]string{
		line(t, 1, sound),
		`{"eventId": `,
		line(t, 3, func(f map[string]any) { delete(f, "traceId"); f["aggregateVersion"] = "three" }),
		line(t, 4, func(f map[string]any) { f["status"] = "delivered"; f["attempts"] = 1 }),
		line(t, 5, func(f map[string]any) { f["outbox"] = "noOutbox" }),
		line(t, 6, func(f map[string]any) { f["outbox"] = 6 }),
		line(t, 7, func(f map[string]any) { f["eventType"] = "Unheard" }),
		line(t, 8, sound),
		line(t, 9, payload(map[string]any{"amount": 5, "text": strings.Repeat("x", 1_100_000)})),
		line(t, 10, payload(map[string]any{"amount": 5, "lists": []any{[]any{1}}})),
		line(t, 11, payload(map[string]any{"amount": 5, "": 1})),
		line(t, 12, payload(map[string]any{"amount": 5, "text": strings.Repeat("x", 9<<20)})),
		line(t, 13, sound),
		strings.Replace(line(t, 14, sound), `"amount":5`, `"amount":5,"by":[{"id":1,"id":2}]`, 1),
		strings.Replace(line(t, 15, sound), `"traceId":`, `"lane":"STANDARD_LANE","traceId":`, 1),
		strings.Replace(line(t, 16, sound), `"amount":5`, `"amount":5,"text":"cut \ud83d"`, 1),
	}, "\n")
	wantStderr := []string{
		"standard input:2: decode record:",
		"standard input:3: ", "traceId is missing", "aggregateVersion is a string",
		"standard input:4: status is not pending", "attempts is the relay's to write",
		"standard input:5: ", "noOutbox",
		"standard input:6: outbox is not a string",
		"standard input:7: ", "eventType",
		"standard input:9: payload.text is 1100000 bytes long", "standard input:10: payload.lists[0] is an array directly within an array",
		"standard input:11: payload has a key that is empty", "standard input:12: the line is over 8388608 bytes",
		"standard input:14: decode record: payload.by[0].id stands twice", "standard input:15: decode record: lane stands twice",
		"standard input:16: decode record: payload.text holds half a surrogate pair",
		"13 of 16 records are bad",
	}
	for _, tc := range []struct {
		name       string
		flags      []string
		wantStdout string
		wantDocs   int
		wantStderr string
	}{
		{"nothing is written", nil, "", 0, "nothing was written"},
		{"the good ones are written", []string{"--skip-bad"}, "appended 3 records, 0 were there already\n", 3, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cloud := startCloud(t)
			client := mustDialFirestore(t, cloud.at).Client
			got := runProgram(t, cloud.env, lines, append([]string{"append", "--outbox", "accOutbox", "-"}, tc.flags...)...)
			if got.code != shell.ExitRefused || got.stdout != tc.wantStdout {
				t.Errorf("exit code %d, stdout %q; want %d, %q", got.code, got.stdout, shell.ExitRefused, tc.wantStdout)
			}
			for _, want := range append(wantStderr, tc.wantStderr) {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is not in stderr:\n%s", want, got.stderr)
				}
			}
			if docs := documents(t, client, "accOutbox"); len(docs) != tc.wantDocs {
				t.Errorf("%d documents, want %d", len(docs), tc.wantDocs)
			}
		})
	}
}

// A key that another record has is no repeat: neither within a file nor in the outbox.
func TestAppendTellsACollisionFromARepeat(t *testing.T) {
	const secret = "hush"
	cloud := startCloud(t)
	client := mustDialFirestore(t, cloud.at).Client
	other := func(f map[string]any) { f["payload"] = map[string]any{"amount": 6, "note": secret} }
	again := func(f map[string]any) {
		f["traceId"], f["payload"] = strings.Repeat("1", 32), map[string]any{"amount": 5.0}
	}
	const collision = ": idempotencyKey 0b0e5f3a-6d4c-4c5e-9f7b-000000000001:acc-1:1 is that of another record already, of "
	for _, tc := range []struct {
		name    string
		lines   []string
		flags   []string
		want    result
		records int
	}{
		{
			"within the file",
			[]string{line(t, 1, sound), line(t, 2, sound), line(t, 1, other)},
			nil,
			result{code: shell.ExitRefused, stderr: "standard input:3" + collision + "line 1: payload differs\n"},
			0,
		},
		{
			"within the file, skipped",
			[]string{line(t, 1, sound), line(t, 1, again), line(t, 1, other)},
			[]string{"--skip-bad"},
			result{shell.ExitRefused, "appended 1 records, 1 were there already\n", "standard input:3" + collision + "line 1: payload differs\n"},
			1,
		},
		{
			"in the outbox",
			[]string{line(t, 1, other), line(t, 2, sound)},
			nil,
			result{shell.ExitRefused, "appended 1 records, 0 were there already\n", "standard input:1" + collision + "accOutbox: payload differs\n"},
			2,
		},
		{
			"a repeat",
			[]string{line(t, 1, again), line(t, 2, sound)},
			nil,
			result{stdout: "appended 0 records, 2 were there already\n"},
			2,
		},
	} {
		got := runProgram(t, cloud.env, strings.Join(tc.lines, "\n"), append([]string{"append", "--outbox", "accOutbox", "-"}, tc.flags...)...)
		if got.code != tc.want.code || got.stdout != tc.want.stdout || !strings.HasPrefix(got.stderr, tc.want.stderr) || strings.Contains(got.stderr, secret) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
		if docs := documents(t, client, "accOutbox"); len(docs) != tc.records {
			t.Errorf("%s: %d records, want %d", tc.name, len(docs), tc.records)
		}
	}
	for _, doc := range documents(t, client, "accOutbox") {
		if diff := cmp.Diff(map[string]any{"amount": int64(5)}, doc["payload"]); diff != "" {
			t.Errorf("a record was changed (-want +got):\n%s", diff)
		}
	}
}

// catalogFile is a catalog file, the default one changed as a test likes.
func catalogFile(t *testing.T, change func(*contracts.Catalog)) string {
	t.Helper()
	catalog := testCatalog(t)
	change(catalog)
	file, err := os.Create(filepath.Join(t.TempDir(), "catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := catalog.Print(file); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

func TestAppendToShards(t *testing.T) {
	cloud, catalog := startCloud(t), catalogFile(t, func(c *contracts.Catalog) { c.Outbox("accOutbox").Shards = 4 })
	client := mustDialFirestore(t, cloud.at).Client
	got := runProgram(t, cloud.env, "", "append", "--catalog", catalog, "--outbox", "accOutbox", "--samples", "40", "--aggregates", "20")
	if got.stdout != "appended 40 records, 0 were there already\n" {
		t.Fatalf("append: %+v", got)
	}
	for id, fields := range documents(t, client, "accOutbox") {
		aggregateID, _ := fields["aggregateId"].(string)
		if want := int64(contracts.ShardOf(aggregateID, 4)); fields["shard"] != want {
			t.Errorf("sample %s has shard %v, want %d", id, fields["shard"], want)
		}
	}
	lines := strings.Join([]string{
		line(t, 1, func(f map[string]any) { f["shard"] = contracts.ShardOf("acc-1", 4) }),
		line(t, 2, sound),
		line(t, 3, func(f map[string]any) { f["shard"] = 4 }),
		line(t, 4, func(f map[string]any) { f["shard"] = "1" }),
	}, "\n")
	got = runProgram(t, cloud.env, lines, "append", "--catalog", catalog, "--outbox", "accOutbox", "--skip-bad", "-")
	if got.code != shell.ExitRefused || got.stdout != "appended 1 records, 0 were there already\n" {
		t.Errorf("append: %+v", got)
	}
	for _, want := range []string{
		"standard input:2: shard is missing, want an integer from 0 to 3", "fnv1a32(aggregateId) % 4",
		"standard input:3: shard is 4, want", "standard input:4: shard is a string, want",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is not in stderr:\n%s", want, got.stderr)
		}
	}
}

func TestAppendNeedsAnOutbox(t *testing.T) {
	cloud := startCloud(t)
	got := runProgram(t, cloud.env, line(t, 1, sound), "append", "-")
	if got.code != shell.ExitRefused || !strings.Contains(got.stderr, "outbox is missing") {
		t.Errorf("append: %+v", got)
	}
}

// A wrong place for Pub/Sub must not matter: append does not use it.
func TestAppendNeedsNoPubSub(t *testing.T) {
	cloud := startCloud(t)
	env := maps.Clone(cloud.env)
	env[gcp.EnvPubSub] = "127.0.0.1:1"
	if got := runProgram(t, env, "", "append", "--outbox", "accOutbox", "--samples", "1"); got.code != shell.ExitOK {
		t.Errorf("append: %+v", got)
	}
}
