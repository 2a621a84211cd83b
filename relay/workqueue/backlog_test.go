package workqueue

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
)

// retried creates n documents that wait for a later attempt, under names that begin so.
func (r *rig) retried(n int, begin string, due time.Time) {
	r.t.Helper()
	for from := 0; from < n; from += 250 {
		b := r.client.Batch() //nolint:staticcheck // one commit
		for i := from; i < min(n, from+250); i++ {
			b.Create(r.client.Doc(fmt.Sprintf("errands/%s%04d", begin, i)), map[string]any{
				"status": "pending", "createdAt": firestore.ServerTimestamp, "attempts": 1, "dueAt": due,
			})
		}
		if _, err := b.Commit(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// What a tenant has in line costs no more where it has itself documents under earlier names that
// wait for a later attempt.
func TestABacklogCostsNoMoreBehindItsOwnThatWaits(t *testing.T) {
	r := onEmbedded(t)
	const backlog, waiting = 500, 1000
	r.retried(waiting, "z:!", time.Now().Add(time.Hour))
	r.many("z", backlog)
	var l ledger
	q := r.run(vocabulary(false), l.does, func(c *Config) { c.Log = zap.NewNop(); c.Tuning.Every = time.Hour })
	r.await("the backlog", func() bool { return len(l.handled()) >= backlog })
	q.stop()
	reads := q.count(q.metrics.reads, byRound)
	if most := 2*backlog + waiting; reads > most {
		t.Errorf("rounds read %d documents, want %d at most: each that waits once", reads, most)
	}
	t.Logf("%d reads of rounds for %d beside %d", reads, backlog, waiting)
}

// One tenant's documents may be in several places of the order of names: what is left behind in
// each is found, on from where it was left.
func TestABacklogInSeveralPlaces(t *testing.T) {
	r := onEmbedded(t)
	const places, each, waiting = 3, 150, 300
	v := vocabulary(false)
	v.Tenant = func(path string) (string, string) {
		return "z", path[:strings.Index(path, ":")] + ":\U0010FFFF"
	}
	for p := range places {
		r.retried(waiting, fmt.Sprintf("p%d:!", p), time.Now().Add(time.Hour))
		r.many(fmt.Sprintf("p%d", p), each)
	}
	var l ledger
	q := r.run(v, l.does, func(c *Config) { c.Log = zap.NewNop(); c.Tuning.Every = time.Hour })
	r.await("all", func() bool { return len(l.handled()) >= places*each })
	q.stop()
	if reads, most := q.count(q.metrics.reads, byRound), places*(2*each+waiting); reads > most {
		t.Errorf("rounds read %d documents, want %d at most", reads, most)
	}
}

// While a tenant's backlog is worked off, what comes under an earlier name has not to wait for
// the next round through all.
func TestAnEarlierNameIsFoundBesideABacklog(t *testing.T) {
	r := onEmbedded(t)
	r.retried(100, "z:!", time.Now().Add(time.Hour))
	r.many("z", 300)
	var l ledger
	var once sync.Once
	early := make(chan struct{})
	q := r.run(vocabulary(false), func(ctx context.Context, c *Claim) (Outcome, error) {
		if c.Path >= "errands/z:00100" {
			once.Do(func() {
				r.many("z:!00", 60) // more than fit into the line
				close(early)
			})
			<-early
		}
		return l.does(ctx, c)
	}, func(c *Config) { c.Log = zap.NewNop(); c.Tuning.Every = time.Hour })
	r.await("all", func() bool { return len(l.handled()) >= 360 })
	q.stop()
	for path, n := range l.times {
		if n != 1 {
			t.Errorf("%s was handled %d times", path, n)
		}
	}
}

// What a look was to find that failed is found by the next, at once.
func TestALookThatFailsForgetsNoBacklog(t *testing.T) {
	r := onEmbedded(t)
	const backlog = 200
	r.many("z", backlog)
	r.server.Faults().Add(localfirestore.Fault{Method: "Listen", Stall: true})
	// The round through all makes two queries: z has its batch, and nobody comes behind it.
	r.server.Faults().Add(localfirestore.Fault{Method: "RunQuery", Skip: 2, Times: 1, Code: codes.PermissionDenied})
	var l ledger
	q := r.run(vocabulary(false), l.does, func(c *Config) { c.Log = zap.NewNop(); c.Tuning.Every = time.Hour })
	r.await("the backlog", func() bool { return len(l.handled()) >= backlog })
	if n := q.count(q.metrics.errors, partRound); n == 0 {
		t.Error("no look failed")
	}
}
