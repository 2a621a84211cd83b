package workqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// patience is how long a test waits for what should come.
const patience = 5 * time.Minute

// rig is a Firestore with a queue's documents.
type rig struct {
	t       *testing.T
	server  *localfirestore.Server // nil on Google's emulator
	address string
	client  *firestore.Client
	ahead   atomic.Int64 // of the server's clock, in nanoseconds
}

func onEmbedded(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t}
	v := vocabulary(false)
	group := vocabulary(true)
	r.server, r.address = firestoretest.Start(t, localfirestore.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	})
	r.server.DeclareIndexes(v.Indexes())
	r.server.DeclareIndexes(group.Indexes())
	r.client = firestoretest.Client(t, r.address).Client
	return r
}

func onGoogle(t *testing.T) *rig {
	t.Helper()
	address := firestoretest.OnGoogle(t)
	return &rig{t: t, address: address, client: firestoretest.Client(t, address).Client}
}

// vocabulary is that of errands: with a lock that tells since when and attempts that
// are counted at failure, or, for a collection group, until when and at the claim.
func vocabulary(group bool) Vocabulary {
	v := Vocabulary{
		Queue: "errands", Collection: "errands", Pending: "pending", Processing: "processing",
		Fields: Fields{
			Status: "status", CreatedAt: "createdAt", Attempts: "attempts", MaxAttempts: "maxAttempts", Due: "dueAt",
			LockedAt: "lockedAt", Owner: "owner", LastError: "lastError", LastErrorCode: "lastErrorCode", UpdatedAt: "updatedAt",
		},
		Counts: AtFailure, Term: time.Minute, MaxAttempts: 3,
		Backoff: func(int) time.Duration { return 50 * time.Millisecond },
		Tenant: func(path string) (string, string) {
			id := path[strings.LastIndex(path, "/")+1:]
			tenant, _, _ := strings.Cut(id, ":")
			return tenant, "errands/" + tenant + ":\U0010FFFF"
		},
		Dead: func(c *Claim, f Failure) Outcome {
			return Outcome{Word: "dead", Status: "dead", Creates: []Create{{c.queue.client.Doc("graves/" + c.Ref.ID), map[string]any{"code": f.Code, "attempts": f.Attempts}}}}
		},
		Outcomes: []string{"done", "dead"},
	}
	if group {
		v.Collection, v.Group, v.Counts = "chores", true, AtClaim
		v.Fields.LockedAt, v.Fields.LockUntil = "", "lockUntil"
		v.Tenant = func(path string) (string, string) {
			parent := path[:strings.LastIndex(path, "/")]
			return parent, parent + "/\U0010FFFF"
		}
	}
	return v
}

// put creates a document of a tenant.
func (r *rig) put(path string, fields map[string]any) {
	r.t.Helper()
	data := map[string]any{"status": "pending", "createdAt": firestore.ServerTimestamp, "note": "kept"}
	maps.Copy(data, fields)
	if _, err := r.client.Doc(path).Create(r.t.Context(), data); err != nil {
		r.t.Fatal(err)
	}
}

// many creates n documents of a tenant.
func (r *rig) many(tenant string, n int) {
	r.t.Helper()
	for from := 0; from < n; from += 250 {
		b := r.client.Batch() //nolint:staticcheck // one commit
		for i := from; i < min(n, from+250); i++ {
			b.Create(r.client.Doc(fmt.Sprintf("errands/%s:%05d", tenant, i)), map[string]any{"status": "pending", "createdAt": firestore.ServerTimestamp})
		}
		if _, err := b.Commit(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) get(path string) map[string]any {
	r.t.Helper()
	snap, err := r.client.Doc(path).Get(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return snap.Data()
}

// until waits until the document satisfies want.
func (r *rig) until(path string, want func(map[string]any) bool) map[string]any {
	r.t.Helper()
	var last map[string]any
	r.await("document "+path, func() bool { last = r.get(path); return want(last) })
	return last
}

func (r *rig) await(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not in time", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func hasStatus(want string) func(map[string]any) bool {
	return func(d map[string]any) bool { return d["status"] == want }
}

// instance is a queue that runs.
type instance struct {
	*Queue
	registry *prometheus.Registry
	stop     func()
}

// run starts an instance, which ends with the test at the latest.
func (r *rig) run(v Vocabulary, h HandlerFunc, change func(*Config)) *instance {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	cfg := Config{
		Client: r.client, Vocabulary: v, Handler: h, Metrics: NewMetrics(registry), Log: zaptest.NewLogger(r.t, zaptest.Level(zap.ErrorLevel)),
		Tuning: Tuning{Every: 200 * time.Millisecond, Backoff: 10 * time.Millisecond, BackoffMax: 200 * time.Millisecond, StopBudget: patience},
	}
	if change != nil {
		change(&cfg)
	}
	q, err := New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run = %v", err)
		}
	})
	r.t.Cleanup(stop)
	return &instance{q, registry, stop}
}

// count is the value of a counter of an instance.
func (i *instance) count(c *prometheus.CounterVec, label string) int {
	return int(testutil.ToFloat64(c.WithLabelValues(label)))
}

// ledger counts what handlers did.
type ledger struct {
	mu    sync.Mutex
	times map[string]int
	order []string
}

func (l *ledger) note(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.times == nil {
		l.times = map[string]int{}
	}
	l.times[path]++
	l.order = append(l.order, path)
	return l.times[path]
}

func (l *ledger) handled() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.order...)
}

var done = Outcome{Word: "done", Status: "done"}

// does notes each document and closes it.
func (l *ledger) does(_ context.Context, c *Claim) (Outcome, error) {
	l.note(c.Path)
	return done, nil
}

var errNoLuck = errors.New("no luck")
