package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/heart"
	"outboxrelay/cmd/outbox-relay/logging"
	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/relay"
)

// watchedService is a service within the test, whose heart has so much patience
// with the keeper of leases.
type watchedService struct {
	heart  *heart.Heart
	leases *heart.Sign
	addr   string
	logs   *clogged
}

func serveWatched(t *testing.T, cloud *embedded, patience time.Duration) *watchedService {
	t.Helper()
	w := &watchedService{logs: newClogged()}
	log, err := logging.New(w.logs, "info", "json", testProject)
	if err != nil {
		t.Fatal(err)
	}
	w.heart = heart.New(log)
	w.leases = w.heart.Watch("leases", patience)
	lis, err := web.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	who, err := auth.New(auth.Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := newService(t.Context(), serviceConfig{
		place: cloud.at, catalog: testCatalog(t), ensureTopics: true, tuning: relay.DefaultTuning(), who: who, log: log,
		instance: "watched", leaseTerm: time.Second, heart: w.heart, keeper: w.leases,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.addr = lis.Addr().String()
	pages := watchedBy(servicePages(svc.health, svc.registry), w.heart)
	serving := beside(t, func(ctx context.Context) error {
		return svc.run(ctx, site{pages, svc.api, svc.console}, lis)
	})
	t.Cleanup(func() {
		w.logs.unclog()
		serving()
	})
	eventually(t, "the service answers", func() bool { status, _ := fetch(t, w.addr, "/ready"); return status != 0 })
	return w
}

// clogged is a log that nobody reads, from the moment on at which it is clogged.
type clogged struct {
	mu   sync.Mutex
	free chan struct{} // closed: writes go through
}

func newClogged() *clogged {
	c := &clogged{free: make(chan struct{})}
	close(c.free)
	return c
}

func (c *clogged) Write(p []byte) (int, error) {
	c.mu.Lock()
	free := c.free
	c.mu.Unlock()
	<-free
	return len(p), nil
}

func (c *clogged) clog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = make(chan struct{})
}

func (c *clogged) unclog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.free:
	default:
		close(c.free)
	}
}

// A platform that killed whoever waits for Firestore would kill every instance
// again and again while it is away. They say that they are alive all the same,
// as they go on.
func TestWaitingForFirestoreIsAlive(t *testing.T) {
	thorough.EndToEnd(t)
	cloud := startCloud(t)
	w := serveWatched(t, cloud, leasePatience)
	leased := func(how string) func() bool {
		return func() bool {
			_, body := fetch(t, w.addr, "/ready")
			return strings.Contains(body, `"lease": "`+how+`"`)
		}
	}
	eventually(t, "it has leases", leased("held"))
	cloud.Firestore.Faults().Add(firestore.Fault{Stall: true}) // no answer, no error
	eventually(t, "the leases have lapsed", leased("lapsed"))
	for range 20 { // as often as it tries in five terms
		before := w.leases.Beats()
		eventually(t, "the keeper of leases tries again", func() bool { return w.leases.Beats() > before })
		if status, body := fetch(t, w.addr, "/alive"); status != http.StatusOK {
			t.Fatalf("/alive = %d %s", status, body)
		}
	}
	cloud.Firestore.Faults().Clear()
	eventually(t, "it has its leases again", leased("held"))
}

// An instance that starts while Firestore is away has not even begun to keep
// leases. The heart's patience is none here: one beat would be followed by a 503.
func TestStartingWithoutFirestoreIsAlive(t *testing.T) {
	cloud := startCloud(t)
	cloud.Firestore.Faults().Add(firestore.Fault{Stall: true})
	w := serveWatched(t, cloud, 0)
	eventually(t, "it waits for Firestore", func() bool { return cloud.Firestore.Faults().List()[0].Hit > 1 })
	if status, body := fetch(t, w.addr, "/alive"); status != http.StatusOK || w.leases.Beats() > 0 {
		t.Errorf("/alive = %d %s, after %d beats", status, body, w.leases.Beats())
	}
	if status, _ := fetch(t, w.addr, "/ready"); status != http.StatusServiceUnavailable {
		t.Errorf("/ready = %d", status)
	}
	cloud.Firestore.Faults().Clear()
	eventually(t, "it keeps leases", func() bool { return w.leases.Beats() > 0 })
}

// A process whose log nobody reads stands still at its next line, and no call's
// bound helps. That is for the platform to end.
func TestStuckIsNotAlive(t *testing.T) {
	thorough.EndToEnd(t)
	cloud := startCloud(t)
	w := serveWatched(t, cloud, 2*time.Second)
	eventually(t, "it keeps leases", func() bool { return w.leases.Beats() > 0 })
	w.logs.clog()
	cloud.Firestore.Faults().Add(firestore.Fault{Stall: true}) // to have something told
	var body string
	eventually(t, "/healthz says that it is stuck", func() (stuck bool) {
		var status int
		status, body = fetch(t, w.addr, "/healthz")
		return status == http.StatusServiceUnavailable
	})
	var told web.Problem
	if err := json.Unmarshal([]byte(body), &told); err != nil || !strings.HasPrefix(told.Detail, "leases: no sign of life for ") {
		t.Errorf("/healthz tells %s, %v", body, err)
	}
	cloud.Firestore.Faults().Clear()
	w.logs.unclog()
	eventually(t, "it goes on", func() bool { status, _ := fetch(t, w.addr, "/healthz"); return status == http.StatusOK })
}
