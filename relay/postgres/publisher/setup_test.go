package publisher

import (
	"context"
	"database/sql"
	"flag"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // for Goose
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/ier"
	"outboxrelay/relay/postgres"
	"outboxrelay/relay/postgres/migrations"
)

// patience is how long what should come is waited for.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	// The model is quick, and what it looks for is rare. The command line is read later and overrides it.
	for name, value := range map[string]string{"rapid.checks": "3000", "rapid.steps": "60"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	// The Pub/Sub client's metrics library starts a worker for the life of the process.
	goleak.VerifyTestMain(postgrestest.Main(m), goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// fixture is a database with the outbox, and a topic.
type fixture struct {
	*testing.T
	url   string
	pool  *pgxpool.Pool
	shelf *shelf
}

// setup makes them. upTo is the last migration that is applied, 0: all of them.
func setup(t *testing.T, upTo int64) *fixture {
	t.Helper()
	return setupOn(t, schema(t), upTo)
}

func setupOn(t *testing.T, url string, upTo int64) *fixture {
	t.Helper()
	f := &fixture{T: t, url: url, shelf: newShelf()}
	migrate(t, f.url, upTo)
	f.pool = f.connect(nil)
	return f
}

// schema is the URL of one of its own, which takes less time to make than a database.
func schema(t testing.TB) string {
	t.Helper()
	server := postgrestest.Server(t)
	name := "outbox_" + uuid.NewString()[:13]
	identifier := pgx.Identifier{name}.Sanitize()
	execute := func(sql string) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	execute("CREATE SCHEMA " + identifier)
	t.Cleanup(func() { execute("DROP SCHEMA " + identifier + " CASCADE") })
	joint := "?"
	if strings.Contains(server, "?") {
		joint = "&"
	}
	return server + joint + "search_path=" + name
}

func migrate(t testing.TB, url string, upTo int64) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	provider, err := migrations.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if upTo == 0 {
		_, err = provider.Up(t.Context())
	} else {
		_, err = provider.UpTo(t.Context(), upTo)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// connect is a pool of its own; change may alter how it connects.
func (f *fixture) connect(change func(*pgxpool.Config)) *pgxpool.Pool {
	f.Helper()
	config, err := pgxpool.ParseConfig(f.url)
	if err != nil {
		f.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(f.Context(), config)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(pool.Close)
	return pool
}

// options are those of a quick publisher of the fixture.
func (f *fixture) options() Options {
	return Options{
		Pool: f.pool, Target: f.shelf, Poll: 10 * time.Millisecond, RetryBase: time.Millisecond, RetryMax: 20 * time.Millisecond,
		ParkedFor: 20 * time.Millisecond, Breaker: ier.BreakerConfig{OpenFor: 5 * time.Millisecond}, Log: zap.NewNop(),
	}
}

// start runs a publisher until stop is called, or the test ends.
func (f *fixture) start(o Options) (p *Publisher, stop func()) {
	f.Helper()
	p, err := New(o)
	if err != nil {
		f.Fatal(err)
	}
	return p, f.run(p)
}

// run has a publisher run until stop, or the end of the test.
func (f *fixture) run(p *Publisher) (stop func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				f.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			f.Error("the publisher does not end")
		}
	})
	f.Cleanup(stop)
	return stop
}

// event is a row to append. A zero createdAt is the database's clock.
type event struct {
	id, aggregate uuid.UUID
	createdAt     time.Time
}

// events are n rows of an aggregate each, which is numbered.
func events(aggregates, each int) (list []event) {
	for range each {
		for a := range aggregates {
			list = append(list, event{id: uuid.New(), aggregate: numbered(a)})
		}
	}
	return list
}

func numbered(a int) uuid.UUID { return uuid.NewMD5(uuid.NameSpaceOID, []byte{byte(a), byte(a >> 8)}) }

const insertSQL = `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
	VALUES ($1, 'order_created', 'vendor_order', $2, jsonb_build_object('version', 1, 'eventId', ($1::uuid)::text, 'data', '{}'::jsonb), coalesce($3, clock_timestamp()))`

// append writes events in one transaction, each with a time of its own.
func (f *fixture) append(list ...event) {
	f.Helper()
	batch := &pgx.Batch{}
	for _, e := range list {
		var at *time.Time
		if !e.createdAt.IsZero() {
			at = &e.createdAt
		}
		batch.Queue(insertSQL, e.id, e.aggregate, at)
	}
	if err := f.pool.SendBatch(f.Context(), batch).Close(); err != nil {
		f.Fatal(err)
	}
}

// await waits until ask is true.
func (f *fixture) await(what string, ask func() bool) {
	f.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-again.C:
		case <-deadline.C:
			f.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// count asks the database for one figure.
func (f *fixture) count(where string, args ...any) (n int) {
	f.Helper()
	if err := f.pool.QueryRow(f.Context(), "SELECT count(*) FROM outbox_events WHERE "+where, args...).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

// awaitPublished waits until nothing is left.
func (f *fixture) awaitPublished() {
	f.Helper()
	f.await("all rows are published", func() bool { return f.count("published_at IS NULL") == 0 })
}

// judge holds what arrived to what was appended: every event, none that was not, and the first deliveries of
// each aggregate in the order of the list.
func (f *fixture) judge(appended []event) {
	f.Helper()
	arrived := f.shelf.firsts()
	want := map[uuid.UUID][]uuid.UUID{}
	for _, e := range appended {
		want[e.aggregate] = append(want[e.aggregate], e.id)
	}
	for a, ids := range want {
		if !slices.Equal(arrived[a], ids) {
			f.Errorf("aggregate %s: arrived %v, want %v", a, arrived[a], ids)
		}
	}
	if len(arrived) != len(want) {
		f.Errorf("%d aggregates arrived, want %d", len(arrived), len(want))
	}
}

// shelf is a topic in memory that may be told to fail.
type shelf struct {
	mu      sync.Mutex
	all     []*contracts.Message
	asked   map[uuid.UUID]int // tries of each event
	onEvent func(id uuid.UUID, try int) error
	// onCall is asked before anything of a call arrives, and may block it.
	onCall func(ctx context.Context)
}

func newShelf() *shelf { return &shelf{asked: map[uuid.UUID]int{}} }

// Deliver implements ier.Target.
func (s *shelf) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	s.mu.Lock()
	onCall, onEvent := s.onCall, s.onEvent
	s.mu.Unlock()
	if onCall != nil {
		onCall(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(parcels))
	for i := range parcels {
		m := parcels[i].Message
		id := uuid.MustParse(m.Attributes[postgres.AttrEventID])
		s.asked[id]++
		if onEvent != nil {
			errs[i] = onEvent(id, s.asked[id])
		}
		if errs[i] != nil {
			for j := i + 1; j < len(errs); j++ {
				errs[j] = ier.ErrBehind
			}
			return errs
		}
		s.all = append(s.all, m)
	}
	return errs
}

// failing has each event answered by f.
func (s *shelf) failing(f func(id uuid.UUID, try int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvent = f
}

// before has f called at each call.
func (s *shelf) before(f func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCall = f
}

func (s *shelf) messages() []*contracts.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// stall has the next call to the shelf wait for release, which a test that fails calls as well
// (Cleanup, after its publishers have started), so that they can end.
func (f *fixture) stall() (reached <-chan struct{}, release func()) {
	at, goOn := make(chan struct{}), make(chan struct{})
	var called atomic.Bool
	f.shelf.before(func(context.Context) {
		if called.CompareAndSwap(false, true) {
			close(at)
			<-goOn
		}
	})
	return at, sync.OnceFunc(func() { close(goOn) })
}

// tries is how often an event was tried.
func (s *shelf) tries(id uuid.UUID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[id]
}

// firsts are the first deliveries of each aggregate.
func (s *shelf) firsts() map[uuid.UUID][]uuid.UUID {
	seen := map[string]bool{}
	firsts := map[uuid.UUID][]uuid.UUID{}
	for _, m := range s.messages() {
		id := m.Attributes[postgres.AttrEventID]
		if !seen[id] {
			seen[id] = true
			a := uuid.MustParse(m.Attributes[postgres.AttrAggregateID])
			firsts[a] = append(firsts[a], uuid.MustParse(id))
		}
	}
	return firsts
}

var (
	errOut     = &contracts.Failure{Kind: contracts.Outage, Code: "Unavailable"}
	errRefused = &contracts.Failure{Kind: contracts.Permanent, Code: "InvalidArgument"}
	errItself  = &contracts.Failure{Kind: contracts.Attributable, Code: "Internal"}
)
