package console

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"outboxrelay/dlq/admin"
)

const (
	// statusProcessing is that of a document which a worker has, in every queue.
	statusProcessing = "processing"
	// staleAfter is how long after its lease a document should have been taken over.
	staleAfter = 2 * time.Minute
	// staleLook is how many leases are looked at, and staleGood how long that is good for: the
	// API does not count them, and each costs a read.
	staleLook = 100
	staleGood = 30 * time.Second
)

// staleLeases are the documents of a queue whose worker is gone and that nobody has taken over.
type staleLeases struct {
	Count  int
	Oldest time.Time // end of the lease that ended first
}

// queueFacts are the work queues as the API tells of them, and their stale leases.
type queueFacts struct {
	*admin.WorkQueueList

	stale map[string]staleLeases // by queue
}

// queueFactsOf asks for them in the name of a visitor.
func (s *server) queueFactsOf(ctx context.Context, a *ask) (*queueFacts, error) {
	list, err := get[admin.WorkQueueList](ctx, a, apiPath("queues"), nil)
	if err != nil {
		return nil, err
	}
	f := &queueFacts{WorkQueueList: list, stale: make(map[string]staleLeases)}
	for _, q := range list.Items {
		if st, ok := statusOf(list, q.Queue, statusProcessing); ok && st.Count > 0 {
			f.stale[q.Queue] = s.leases.of(ctx, a, q.Queue, time.Now())
		}
	}
	return f, nil
}

// leases remembers what was found of each queue, for all who look.
type leases struct {
	mu     sync.Mutex
	queues map[string]foundLeases
}

type foundLeases struct {
	at    time.Time
	items []admin.QueueItem
}

// of tells of a queue's stale leases. What cannot be read now is as it was found last: whoever
// asks has the counts.
func (l *leases) of(ctx context.Context, a *ask, queue string, now time.Time) staleLeases {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.queues[queue]
	if now.Sub(found.at) >= staleGood {
		list, err := get[admin.QueueItemList](ctx, a, apiPath("queues", queue, "items"), url.Values{"status": {statusProcessing}, "limit": {strconv.Itoa(staleLook)}})
		if err == nil {
			found = foundLeases{now, list.Items}
			l.queues[queue] = found
		}
	}
	var out staleLeases
	for _, i := range found.items {
		if !stale(i, found.at) {
			continue
		}
		if out.Count++; out.Oldest.IsZero() || i.LeaseEnds.Before(out.Oldest) {
			out.Oldest = i.LeaseEnds
		}
	}
	return out
}

// stale reports whether a document should have been taken over by then.
func stale(i admin.QueueItem, now time.Time) bool {
	return !i.LeaseEnds.IsZero() && now.Sub(i.LeaseEnds) > staleAfter
}
