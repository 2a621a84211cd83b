package admin

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

const (
	actionRefused = "refused" // the audit's word for somebody who was turned away
	// turnedAwayEvery is how often one identity gets an audit entry for that.
	turnedAwayEvery = time.Minute
	// maxTurnedAway is how many identities are remembered. While it is full,
	// others are logged and not audited.
	maxTurnedAway = 1000
	// recordWithin bounds the write of an entry: who is turned away waits for it.
	recordWithin = 2 * time.Second
)

// turnedAway writes down who was turned away, though known.
type turnedAway struct {
	queue Queue
	log   *zap.Logger
	now   func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

func newTurnedAway(c Config) *turnedAway {
	return &turnedAway{queue: c.Queue, log: c.Log, now: c.Now, last: make(map[string]time.Time)}
}

// note logs and audits, at most once a minute for each identity.
func (t *turnedAway) note(ctx context.Context, who auth.Identity, code, detail string) {
	if !t.due(who.Name) {
		return
	}
	t.log.Warn("access refused", zap.String("identity", who.Name), zap.Stringer("role", who.Role), zap.String("why", code), zap.String("detail", detail))
	if who.Name == "" { // from where it came forbids it; nobody knows who it was
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	err := t.queue.Record(ctx, &dlq.Entry{
		At: t.now(), Actor: who.Name, Role: who.Role, Action: actionRefused, Subject: dlq.SubjectAccess, On: Prefix, Reason: detail,
	})
	if err != nil {
		t.log.Warn("refused access could not be audited", zap.String("identity", who.Name), zap.Error(err))
	}
}

func (t *turnedAway) due(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if last, ok := t.last[name]; ok && now.Sub(last) < turnedAwayEvery {
		return false
	}
	if len(t.last) >= maxTurnedAway {
		for n, last := range t.last {
			if now.Sub(last) >= turnedAwayEvery {
				delete(t.last, n)
			}
		}
	}
	if len(t.last) >= maxTurnedAway {
		return false
	}
	t.last[name] = now
	return true
}
