package workqueue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
)

// However many tenants there are, a round brings no more into memory than the workers
// get through, and goes on as they do.
func TestRoundWaitsForRoom(t *testing.T) {
	r := onEmbedded(t)
	const tenants = 60
	for i := range tenants {
		r.put(fmt.Sprintf("errands/t%02d:1", i), nil)
	}
	q, err := New(Config{Client: r.client, Vocabulary: vocabulary(false), Handler: HandlerFunc((&ledger{}).does), Tuning: Tuning{Batch: 4}})
	if err != nil {
		t.Fatal(err)
	}
	q.line.full = 10
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := q.round(ctx, true)
		ended <- err
	}()
	most, given := 0, 0
	for given < tenants {
		r.await("a stalled round or its end", func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			most = max(most, q.line.ready)
			return q.line.stalled || q.line.ready+given == tenants
		})
		it := q.await(ctx)
		if it == nil {
			t.Fatal("nothing came in time")
		}
		given++
		q.mu.Lock()
		q.line.end(it.state.path, nil, time.Now())
		q.mu.Unlock()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most >= 10+5 {
		t.Errorf("%d were in memory at once, want little more than 10", most)
	}
}

// What one tenant has in line costs no more where others have documents that wait for a later
// attempt: as after an outage, when thousands do.
func TestABacklogCostsNoMoreBesideWhatWaits(t *testing.T) {
	r := onEmbedded(t)
	const backlog, waiting = 1000, 1500
	due := time.Now().Add(time.Hour)
	for from := 0; from < waiting; from += 250 {
		b := r.client.Batch() //nolint:staticcheck // one commit
		for i := range 250 {
			b.Create(r.client.Doc(fmt.Sprintf("errands/a%03d:%05d", i%100, from+i)), map[string]any{
				"status": "pending", "createdAt": firestore.ServerTimestamp, "attempts": 1, "dueAt": due,
			})
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.many("z", backlog)
	var l ledger
	q := r.run(vocabulary(false), l.does, func(c *Config) { c.Log = zap.NewNop(); c.Tuning.Every = time.Hour })
	r.await("the backlog", func() bool { return len(l.handled()) >= backlog })
	q.stop()
	if reads, most := q.count(q.metrics.reads, byRound), 4*backlog+2*waiting; reads > most {
		t.Errorf("rounds read %d documents, want %d at most: each that waits once or twice, not with each batch", reads, most)
	}
}
