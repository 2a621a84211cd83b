package workqueue

import (
	"context"
	"fmt"
	"testing"
	"time"
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
		_, err := q.round(ctx)
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
