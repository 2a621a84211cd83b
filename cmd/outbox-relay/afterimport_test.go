package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/google"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay/lease"
)

// exported copies all that stands, while the relay runs, and returns what brings
// it back into an empty Firestore. On Google's emulator both are its own export
// and import; on the embedded one the documents are copied.
func (o *operation) exported() (restore func()) {
	o.t.Helper()
	if o.cloud != nil {
		from := o.documents()
		return func() { o.replaceBy(from) }
	}
	dir := o.t.TempDir()
	order, err := json.Marshal(map[string]string{
		"database": "projects/" + o.at.Project + "/databases/(default)", "export_directory": dir, "export_name": "export",
	})
	if err != nil {
		o.t.Fatal(err)
	}
	url := "http://" + o.at.Firestore + "/emulator/v1/projects/" + o.at.Project + ":export"
	resp, err := http.Post(url, "application/json", bytes.NewReader(order))
	if err != nil {
		o.t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
		o.t.Fatalf("export: %s", resp.Status)
	}
	return func() {
		imported, err := google.StartFirestoreFrom(o.t.Context(), filepath.Join(dir, "export", "export.overall_export_metadata"), nil)
		if err != nil {
			o.t.Fatal(err)
		}
		o.t.Cleanup(func() {
			if err := imported.Stop(); err != nil {
				o.t.Error(err)
			}
		})
		o.at.Firestore, o.env[gcp.EnvFirestore] = imported.Addr(), imported.Addr()
		o.docs = mustDialFirestore(o.t, o.at)
	}
}

// documents is every document of the service's and of the outboxes, by path.
func (o *operation) documents() map[string]map[string]any {
	o.t.Helper()
	out := make(map[string]map[string]any)
	collections := contracts.Collections()
	for _, outbox := range o.catalog.Outboxes {
		collections = append(collections, outbox.Name)
	}
	for _, name := range collections {
		docs, err := o.docs.Collection(name).Documents(o.t.Context()).GetAll()
		if err != nil {
			o.t.Fatal(err)
		}
		for _, d := range docs {
			out[name+"/"+d.Ref.ID] = d.Data()
		}
	}
	return out
}

// replaceBy leaves the documents given and no others.
func (o *operation) replaceBy(from map[string]map[string]any) {
	o.t.Helper()
	all := o.documents()
	maps.Copy(all, from)
	bulk := o.docs.BulkWriter(o.t.Context())
	for path := range all {
		var err error
		if fields, kept := from[path]; kept {
			_, err = bulk.Set(o.docs.Doc(path), fields)
		} else {
			_, err = bulk.Delete(o.docs.Doc(path))
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
	bulk.End()
}

// brokenOff is an operation whose Firestore was lost after an export: some
// records waited then, which were delivered since.
type brokenOff struct {
	*operation
	at   time.Time // of the export
	auto string    // dead letter that was scheduled in the export, and replayed since
}

func breakOff(t *testing.T) *brokenOff {
	_, catalog := variant(t, "delays: [5s, 30s, 2m, 10m, 30m]", "delays: [4s, 5s, 5s, 5s, 5s]")
	file := edited(t, "../../contracts/default.yaml", "delays: [5s, 30s, 2m, 10m, 30m]", "delays: [4s, 5s, 5s, 5s, 5s]", "initial: 500ms", "initial: 10ms", "max: 10s", "max: 50ms")
	o := openOperation(t, catalog)
	o.env["CATALOG"], o.env[envLeaseTerm] = file, "3s" // an import brings leases back
	broker := startBrokerProxy(t, o.at.PubSub)
	o.env[gcp.EnvPubSub] = broker.addr
	i := o.roll(nil, []string{"relay-1"})[0]
	end := o.flow(4 * flowEvery)
	o.flowOn(100)

	// A SAFE_AUTO dead letter waits for its replay, and a lane's records wait.
	rec := sampleOf(catalog, o.random, "skillOutbox", "SkillXpAdded", fmt.Sprintf("dies-%x", o.seen), 1)
	broker.refuse(rec.AggregateID)
	o.put(t.Context(), catalog, rec)
	patiently(t, "it is a dead letter", testPatience, 10*time.Millisecond, func() bool { return o.dead() == 1 })
	o.mustAsk(i, "operator", "lanes", "pause", "STANDARD_LANE", "--reason", "an export with a backlog")
	i.stderr.find(t, "(lane paused)") // milliseconds later
	o.putEach(120, catalog, o.versions(catalog, "accOutbox", "AccountCreated", 8))
	end()
	restore := o.exported()
	b := &brokenOff{operation: o, auto: dlq.ID(rec.IdempotencyKey)}
	b.at = o.serverTime()
	// What follows the export: all of it is delivered, the dead letter replayed.
	broker.accept()
	o.mustAsk(i, "operator", "lanes", "resume", "STANDARD_LANE", "--reason", "exported")
	o.arrive()
	patiently(t, "the dead letter is replayed", testPatience, 50*time.Millisecond, func() bool {
		d, err := o.docs.Collection(contracts.CollectionDeadLetters).Doc(b.auto).Get(t.Context())
		return err == nil && d.Data()[contracts.DeadFieldState] == string(contracts.DeadReplayed)
	})
	i.signal(t, syscall.SIGTERM)
	i.wait(t)
	restore()
	return b
}

// serverTime is the server's clock.
func (o *operation) serverTime() time.Time {
	o.t.Helper()
	snap, err := o.docs.Collection(contracts.CollectionLaneControl).Doc(string(contracts.StandardLane)).Get(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return snap.ReadTime
}

// restore runs the command against the cloud.
func (o *operation) restore(args ...string) result {
	o.t.Helper()
	args = append([]string{"restore", "--stand-in", "CLAIMS_HANDLER=ier-claims-handler"}, args...)
	got := runProgram(o.t, o.env, "", args...)
	o.t.Logf("$ outbox-relay %s\n%s%s", shown(append(args[:1:1], args[3:]...)), got.stdout, got.stderr)
	return got
}

// settled runs the command once what the import brought back of the instance that
// ran at the time of the export has run out.
func (b *brokenOff) settled(as string) result {
	b.t.Helper()
	args := []string{
		"--before", b.at.Format(time.RFC3339Nano), "--as", as, "--by", "alice@example.com", "--reason", "the database was deleted by mistake", "--yes",
	}
	eventually(b.t, "the leases of the export have run out", func() bool {
		live, err := lease.Live(b.t.Context(), dlqfirestore.New(b.docs))
		return err == nil && len(live) == 0
	})
	got := b.restore(args...)
	if got.code != shell.ExitOK {
		b.t.Fatalf("exit code %d", got.code)
	}
	return got
}

// After an import, what was waiting in the export is settled as delivered: none
// of it comes again, and what is appended from then on does.
func TestE2EOperationsRestoreAsDelivered(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	b := breakOff(t)
	before := b.tally()
	b.restore("--before", b.at.Format(time.RFC3339Nano), "--as", "delivered", "--dry-run")
	b.settled("delivered")
	if left := b.left(); left > 0 {
		t.Errorf("%d records wait all the same", left)
	}
	i := b.start("relay-2")
	b.mustAsk(i, "operator", "lanes", "resume", "STANDARD_LANE", "--reason", "restored")
	b.putEach(40, b.catalog, b.versions(b.catalog, "orgOutbox", "MemberJoined", 4))
	b.arrive()
	b.quiet()
	got := b.tally()
	t.Logf("%d records were delivered before; since the restore %d messages, %d of them again", before.Records, got.Messages-before.Messages, got.Duplicates-before.Duplicates)
	if got.Duplicates != before.Duplicates || got.Disordered > 0 {
		t.Errorf("before %+v, after %+v: want nothing again", before, got)
	}
	b.mustAsk(i, "viewer", "dlq", "audit", "--actor", "alice@example.com")
	b.mustAsk(i, "viewer", "dlq", "show", b.auto)
}

// Settled for review, each is a dead letter: nothing comes again by itself, and a
// person's replay brings it.
func TestE2EOperationsRestoreForReview(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	b := breakOff(t)
	before := b.tally()
	b.settled("review")
	i := b.start("relay-2")
	b.mustAsk(i, "operator", "lanes", "resume", "STANDARD_LANE", "--reason", "restored")
	b.quiet()
	if got := b.tally(); got.Messages != before.Messages {
		t.Errorf("%d messages since the restore, want none without a decision", got.Messages-before.Messages)
	}
	b.mustAsk(i, "viewer", "dlq", "groups")
	dead, waited := b.dead(), b.missing()
	b.mustAsk(i, "operator", "dlq", "bulk", "--dead-reason", string(contracts.Restored), "--rate", "100", "--yes", "--reason", "the store of the funnel lacks them")
	patiently(t, "they arrive", testPatience, 50*time.Millisecond, func() bool { return b.tally().Messages-before.Messages >= waited })
	got := b.tally()
	t.Logf("%d dead letters; the replay of a person brought %d messages", dead, got.Messages-before.Messages)
	if n := got.Messages - before.Messages; n != waited || n < 120 {
		t.Errorf("%d messages, want the %d that waited in the export", n, waited)
	}
}

// Without it, what waited in the export comes again: this is what the command is
// for.
func TestE2EOperationsRestoreWithoutSettling(t *testing.T) {
	thorough.Long(t)
	thorough.NotOnGoogle(t)
	b := breakOff(t)
	before := b.tally()
	i := b.start("relay-2")
	b.spread(map[string]int{"relay-2": 6})
	got := b.restore("--before", b.at.Format(time.RFC3339), "--as", "delivered", "--by", "alice@example.com", "--reason", "too late", "--yes")
	if got.code != shell.ExitConflict {
		t.Errorf("beside a relay: exit code %d, want %d", got.code, shell.ExitConflict)
	}
	b.mustAsk(i, "operator", "lanes", "resume", "STANDARD_LANE", "--reason", "restored")
	patiently(t, "it comes again", testPatience, 50*time.Millisecond, func() bool { return b.tally().Duplicates-before.Duplicates >= 120 })
	t.Logf("without the command %d records were delivered again", b.tally().Duplicates-before.Duplicates)
}

// left counts the records that wait, whatever for.
func (b *brokenOff) left() int {
	b.t.Helper()
	left := 0
	for _, outbox := range b.catalog.Outboxes {
		for _, s := range []contracts.Status{contracts.Pending, contracts.Retrying, contracts.Held} {
			left += b.waiting(outbox.Name, s)
		}
	}
	return left
}

// missing counts the messages that those of the restored dead letters lack which a bulk
// replay takes.
func (b *brokenOff) missing() (n int) {
	b.t.Helper()
	for path, fields := range b.documents() {
		if strings.HasPrefix(path, contracts.CollectionDeadLetters+"/") && fields[contracts.DeadFieldReason] == string(contracts.Restored) {
			if fields[contracts.DeadFieldTier] == string(contracts.SecurityBlock) {
				continue
			}
			targets, _ := fields[contracts.DeadFieldPendingTargets].([]any)
			n += len(targets)
		}
	}
	return n
}

// quiet waits until nothing waits any more and a replay that were due would have
// come: two sweeps have passed since.
func (b *brokenOff) quiet() {
	b.t.Helper()
	from := b.serverTime()
	patiently(b.t, "nothing waits", testPatience, 50*time.Millisecond, func() bool {
		return b.left() == 0 && b.serverTime().Sub(from) > 2*time.Second
	})
}
