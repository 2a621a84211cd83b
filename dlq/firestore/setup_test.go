package firestore_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/dlq/trace"
)

// The people of the tests.
var (
	viewer   = dlq.Actor{Name: "vera@example.com", Role: dlq.Viewer}
	operator = dlq.Actor{Name: "otto@example.com", Role: dlq.Operator}
	security = dlq.Actor{Name: "sara@example.com", Role: dlq.Security}
	guard    = dlq.Actor{Name: "gus@example.com", Role: dlq.Security}
)

// cloud is a Firestore to test against: the embedded one, or Google's emulator.
type cloud struct {
	address  string
	embedded *localfirestore.Server // nil on Google's
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	return &cloud{address, server}
}

// onGoogle returns Google's emulator, or skips the test where none runs.
func onGoogle(t *testing.T) *cloud {
	t.Helper()
	return &cloud{address: firestoretest.OnGoogle(t)}
}

// fixture is a queue on a cloud.
type fixture struct {
	t       *testing.T
	cloud   *cloud
	catalog *contracts.Catalog
	db      *dlqfirestore.Client
	store   *dlqfirestore.Store
	queue   *dlq.Queue
	now     time.Time
}

func setup(t *testing.T, c *cloud) *fixture {
	t.Helper()
	db := firestoretest.Client(t, c.address)
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	catalog.Outbox("tagOutbox").OnDelivered = contracts.DeleteDelivered
	catalog.Outbox("accOutbox").Route("PolicyChanged").TwoPersonRule = true
	f := &fixture{
		t: t, cloud: c, catalog: catalog, db: db, store: dlqfirestore.New(db), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}
	f.queue = f.newQueue(f.store)
	return f
}

// newQueue makes a queue of another process, as it were.
func (f *fixture) newQueue(store dlq.Store) *dlq.Queue {
	f.t.Helper()
	q, err := dlq.New(dlq.Config{Store: store, Catalog: f.catalog, Now: func() time.Time { return f.now }})
	if err != nil {
		f.t.Fatal(err)
	}
	return q
}

// traces finds what is known of traces.
func (f *fixture) traces() *trace.Finder { return trace.New(f.store, f.queue, f.catalog) }

// letter is a dead letter of a record of the outbox. Its tier is what its event has in the catalog.
func (f *fixture) letter(outbox, eventType, aggregate string, version int64) *dlq.Item {
	i := dlqtest.Letter(f.catalog, outbox, eventType, aggregate, version, f.now)
	i.Errors[0].At, i.Errors[0].Message = f.now.Add(-time.Second), "no 17 said \"no\""
	if i.Tier == contracts.SafeAuto {
		i.NextReplayAt = f.now.Add(f.catalog.Replay.Delays[0])
	}
	i.Record = f.record(i)
	return i
}

// record is the document of a dead letter's record as the relay left it.
func (f *fixture) record(i *dlq.Item) map[string]any {
	r := dlqtest.Record(i)
	maps.Copy(r, map[string]any{
		"eventVersion": 1, "occurredAt": f.now.Add(-time.Minute), "createdAt": f.now.Add(-time.Minute), "payload": map[string]any{"name": "x"},
		"attempts": 3, "attemptErrors": []any{dlq.ErrorFields(i.Errors[0])},
	})
	return r
}

// bury writes a dead letter as the relay does, with its record.
func (f *fixture) bury(i *dlq.Item) *dlq.Item {
	f.t.Helper()
	outbox, id, _ := strings.Cut(i.RecordPath, "/")
	record := dlq.Write{Collection: outbox, ID: id, Op: dlq.OpSet, Fields: f.record(i)}
	f.commit(append(i.Burial(false), record)...)
	return f.item(i.ID)
}

// die buries a new dead letter.
func (f *fixture) die(outbox, eventType, aggregate string, version int64) *dlq.Item {
	f.t.Helper()
	return f.bury(f.letter(outbox, eventType, aggregate, version))
}

func (f *fixture) commit(writes ...dlq.Write) {
	f.t.Helper()
	if _, err := f.store.Commit(f.t.Context(), writes); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) item(id string) *dlq.Item {
	f.t.Helper()
	i, err := f.queue.Item(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return i
}

// decide takes a decision that must succeed.
func (f *fixture) decide(id string, a dlq.Action, by dlq.Actor) *dlq.Decided {
	f.t.Helper()
	d, err := f.queue.Decide(f.t.Context(), id, dlq.Decide{Action: a, Actor: by, Reason: "because"})
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// end ends a replay of the item as it stands: it failed if a code is given.
func (f *fixture) end(id string, code ...string) *dlq.Item {
	f.t.Helper()
	i, err := f.queue.End(f.t.Context(), f.item(id), f.result(id, code...))
	if err != nil {
		f.t.Fatal(err)
	}
	return i
}

func (f *fixture) result(id string, code ...string) dlq.Result {
	r := dlq.Result{At: f.now}
	for _, target := range f.item(id).PendingTargets {
		if len(code) == 0 {
			r.Acked = append(r.Acked, target)
			continue
		}
		r.Errors = append(r.Errors, contracts.AttemptError{At: f.now, Attempt: 4, Target: target, Code: code[0], Message: "no"})
	}
	return r
}

// fields reads a document; nil when there is none.
func (f *fixture) fields(path string) map[string]any {
	f.t.Helper()
	snap, err := f.db.Doc(path).Get(f.t.Context())
	if err != nil {
		if snap != nil && !snap.Exists() {
			return nil
		}
		f.t.Fatal(err)
	}
	return snap.Data()
}

// entries reads the audit of a dead letter, an aggregate or a lane, the latest first.
func (f *fixture) entries(on string) []*dlq.Entry {
	f.t.Helper()
	p, err := f.queue.Audit(f.t.Context(), dlq.AuditFilter{On: on}, dlq.Page{Limit: dlq.MaxPage})
	if err != nil {
		f.t.Fatal(err)
	}
	return p.Items
}

// refusal is the refusal that err must be.
func refusal(t *testing.T, err error) *dlq.Refusal {
	t.Helper()
	r, ok := errors.AsType[*dlq.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r
}

// refused checks that err is a refusal of that kind.
func refused(t *testing.T, err error, want dlq.RefusalKind) {
	t.Helper()
	if r := refusal(t, err); r.Kind != want {
		t.Errorf("got %s (%s), want %s", r.Kind, r.Detail, want)
	}
}
