package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
)

// metered counts what the reads of a store cost.
type metered struct {
	dlq.Store

	mu    sync.Mutex
	reads int64
}

func (m *metered) bill(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads += n
}

func (m *metered) spent() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.reads
	m.reads = 0
	return n
}

func (m *metered) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	m.bill(int64(len(ids)))
	return m.Store.Get(ctx, collection, ids...)
}

func (m *metered) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	docs, err := m.Store.Query(ctx, q)
	m.bill(max(1, int64(len(docs))))
	return docs, err
}

func (m *metered) Count(ctx context.Context, q dlq.Query) (int64, error) {
	n, err := m.Store.Count(ctx, q)
	m.bill(max(1, (n+999)/1000))
	return n, err
}

// TestOverviewCostsABoundedNumberOfReads: none while nobody looks, and about as
// many for one viewer as for ten.
func TestOverviewCostsABoundedNumberOfReads(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "a", 1)
	f.die("accOutbox", "WalletDeducted", "b", 1)
	store := &metered{Store: f.store}
	queue, err := dlq.New(dlq.Config{Store: store, Catalog: f.catalog})
	f.must(err)
	now := time.Now()
	api := f.api(store, queue, func(c *admin.Config) { c.RatePerSecond, c.Burst, c.Now = 1e6, 1e6, func() time.Time { return now } })
	c, err := console.New(console.Config{API: api, Authenticator: f.who, Mode: f.mode, Catalog: f.catalog, Status: f.status, SampleEvery: time.Millisecond})
	f.must(err)
	t.Cleanup(c.Close)
	look := func(path string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, f.url+console.Prefix+path, nil)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
	minute := func(viewers int) int64 {
		store.spent()
		for range 30 { // the clock has each page fetch itself every two seconds
			now = now.Add(2 * time.Second)
			for range viewers {
				look("/")
				look("/lanes")
				look("/chart")
			}
		}
		return store.spent()
	}
	one, ten, nobody := minute(1), minute(10), minute(0)
	if nobody != 0 {
		t.Errorf("a minute without viewers costs %d reads", nobody)
	}
	const bound = 6 * (10 + 3) // the counts and the lane controls, every ten seconds
	if one == 0 || one > bound || ten > bound {
		t.Errorf("a minute costs one viewer %d reads and ten %d, want %d at most", one, ten, bound)
	}
	t.Logf("reads a minute: one viewer %d, ten %d, nobody %d", one, ten, nobody)
}
