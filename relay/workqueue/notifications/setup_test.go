package notifications

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/relay/workqueue"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// cloud is a Firestore to test against: the embedded one, or Google's emulator.
type cloud struct {
	address  string
	embedded *localfirestore.Server // nil on Google's
}

// onEmbedded starts an embedded Firestore, which has the indexes that a deployment has and
// no others: those of firestore.indexes.json. The test runs beside those that do so, too:
// it waits, most of the time.
func onEmbedded(t *testing.T) *cloud {
	t.Helper()
	t.Parallel()
	server, address := firestoretest.Start(t, localfirestore.Options{})
	return &cloud{address, server}
}

// onGoogle returns Google's emulator, or skips the test where none runs.
func onGoogle(t *testing.T) *cloud {
	t.Helper()
	return &cloud{address: firestoretest.OnGoogle(t)}
}

// fixture is a database of its own with a handler on it.
type fixture struct {
	t        *testing.T
	cloud    *cloud
	project  string
	db       *firestore.Client
	settings Settings
	logs     *observer.ObservedLogs
	handler  *Handler
}

func setup(t *testing.T, c *cloud) *fixture {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	f := &fixture{t: t, cloud: c, project: "p-" + uuid.NewString()[:8], settings: Default(), logs: logs}
	f.db = f.client()
	f.handler = f.newHandler(f.db, zap.New(core))
	return f
}

// client opens a client of the database, with further options of the connection.
func (f *fixture) client(dial ...grpc.DialOption) *firestore.Client {
	f.t.Helper()
	options := local.FirestoreOptions(f.cloud.address)
	for _, d := range dial {
		options = append(options, option.WithGRPCDialOption(d))
	}
	db, err := firestore.NewClient(context.Background(), f.project, options...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (f *fixture) newHandler(db *firestore.Client, log *zap.Logger) *Handler {
	f.t.Helper()
	h, err := New(db, f.settings, nil, log)
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// calls fails calls of a client, or counts them.
type calls struct {
	made  atomic.Int64
	fail  int64 // the number of the call that fails; 0: none
	after bool  // it is applied first
	dead  bool  // and so is every later one: the process is gone
	gone  atomic.Bool
}

// errKilled is retried by nobody.
var errKilled = status.Error(codes.PermissionDenied, "killed")

func (c *calls) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			n := c.made.Add(1)
			if c.strikes(n) && (!c.after || n != c.fail) {
				return errKilled
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			if c.strikes(n) {
				return errKilled
			}
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if c.strikes(c.made.Add(1)) {
				return nil, errKilled
			}
			return open(ctx, desc, cc, method, opts...)
		}),
	}
}

func (c *calls) strikes(n int64) bool {
	return c.gone.Load() || c.fail > 0 && (n == c.fail || c.dead && n > c.fail)
}

// claim takes the event whatever its lease says, as if that had run out.
func (f *fixture) claim(h *Handler, ref *firestore.DocumentRef) attempt {
	f.t.Helper()
	snap, err := f.db.Doc(relative(ref)).Get(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	n, _ := snap.Data()[fieldAttempts].(int64)
	token := uuid.NewString()
	_, err = snap.Ref.Update(context.Background(), []firestore.Update{
		{Path: fieldStatus, Value: StatusProcessing},
		{Path: fieldWorkerID, Value: token},
		{Path: fieldAttempts, Value: n + 1},
		{Path: fieldLockUntil, Value: snap.ReadTime.Add(f.settings.Lock)},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return attempt{ref: h.client.Doc(relative(ref)), fields: snap.Data(), number: int(n + 1), token: token}
}

// dispatch claims an event and makes one attempt.
func (f *fixture) dispatch(ref *firestore.DocumentRef) (Result, error) {
	f.t.Helper()
	sum, err := f.handler.attempt(f.t.Context(), f.claim(f.handler, ref))
	return sum.result, err
}

// mustDispatch makes one attempt that has to end so.
func (f *fixture) mustDispatch(ref *firestore.DocumentRef, want Result) {
	f.t.Helper()
	if got, err := f.dispatch(ref); err != nil || got != want {
		f.t.Fatalf("dispatch of %s: %q, %v, want %s", ref.ID, got, err, want)
	}
}

// tenant makes a condominium with people, each written as ID:role, or with :inactive or
// :active behind.
func (f *fixture) tenant(name string, people ...person) Tenant {
	f.t.Helper()
	tenant := Tenant{"client-" + name, "condo-" + name}
	f.set(f.db.Doc(tenant.Path()), map[string]any{"name": name})
	for chunk := range slices.Chunk(people, 400) {
		batch := f.db.Batch() //nolint:staticcheck // one request for many documents of a test
		for _, p := range chunk {
			fields := map[string]any{"name": p.id}
			if p.role != "" {
				fields["role"] = p.role
			}
			if p.active != nil {
				fields["active"] = *p.active
			}
			batch.Set(f.db.Doc(tenant.Path()+"/users/"+p.id), fields)
		}
		if _, err := batch.Commit(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
	return tenant
}

type person struct {
	id, role string
	active   *bool
}

// eventFields are those of a front end.
func eventFields(tenant Tenant, change ...func(map[string]any)) map[string]any {
	fields := map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "priority": "medium",
		"title": "Nuevo ticket de mantenimiento: fuga", "body": "Se registró el ticket fuga",
		"dedupeKey": "maintenance:ticket:" + uuid.NewString() + ":created", "channels": []any{"in_app"},
		"audience": map[string]any{"scope": "admins_and_assistants", "userIds": []any{}},
		"entityId": "abc123", "entityType": "ticket_maintenance", "metadata": map[string]any{"floor": int64(3)},
		"createdAt": firestore.ServerTimestamp, "createdBy": "uid", "createdByName": "Nombre",
		"status": "pending_dispatch", "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID,
	}
	for _, c := range change {
		c(fields)
	}
	return fields
}

func with(name string, value any) func(map[string]any) {
	return func(fields map[string]any) { fields[name] = value }
}

func audience(scope Scope, ids ...string) func(map[string]any) {
	list := []any{}
	for _, id := range ids {
		list = append(list, id)
	}
	return with("audience", map[string]any{"scope": string(scope), "userIds": list})
}

// event writes an event as a front end does.
func (f *fixture) event(tenant Tenant, change ...func(map[string]any)) *firestore.DocumentRef {
	f.t.Helper()
	ref := f.db.Collection(tenant.Path() + "/notificationEvents").NewDoc()
	f.set(ref, eventFields(tenant, change...))
	return ref
}

func (f *fixture) set(ref *firestore.DocumentRef, fields map[string]any) {
	f.t.Helper()
	for tries := 1; ; tries++ {
		_, err := ref.Set(context.Background(), fields)
		if status.Code(err) == codes.Canceled && tries < 10 {
			continue // Google's emulator says so of a call beside which others were cancelled
		}
		if err != nil {
			f.t.Error(err)
		}
		return
	}
}

// fields reads a document; nil when there is none.
func (f *fixture) fields(path string) map[string]any {
	f.t.Helper()
	snap, err := f.db.Doc(path).Get(context.Background())
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return snap.Data()
}

// bells reads whose bells hold notifications of the tenant, each by its events' IDs.
func (f *fixture) bells(tenant Tenant) map[string][]string {
	f.t.Helper()
	docs, err := f.db.CollectionGroup(CollectionBells).Documents(context.Background()).GetAll()
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string][]string{}
	for _, d := range docs {
		data := d.Data()
		if data["clientId"] == tenant.ClientID && data["condominiumId"] == tenant.CondominiumID {
			user := d.Ref.Parent.Parent.ID
			out[user] = append(out[user], fmt.Sprint(data["sourceEventId"]))
		}
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out
}

// stats are the tenant's of all hours, without what depends on the clock.
func (f *fixture) stats(tenant Tenant) Stats {
	f.t.Helper()
	hours, err := Hours(context.Background(), f.db, tenant, time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour))
	if err != nil {
		f.t.Fatal(err)
	}
	var sum Stats
	for _, h := range hours {
		sum = sum.Add(h)
	}
	sum.DispatchLatency = 0
	return sum
}

// without leaves fields out of a document.
func without(fields map[string]any, names ...string) map[string]any {
	fields = maps.Clone(fields)
	for _, n := range names {
		delete(fields, n)
	}
	return fields
}

func isLost(err error) bool { return errors.Is(err, workqueue.ErrLost) }

// atOnce calls f for each of n, all together, and waits for them.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}
