package admin

import (
	"context"
	"maps"
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
	// maxMembers and maxOutsiders are how many identities, with a role and without,
	// get one within that time. Those with a role are as many as the roles file
	// names; without one anybody in the world may come, under many names.
	maxMembers   = 1000
	maxOutsiders = 60
	// recordWithin bounds the write of an entry: who is turned away waits for it.
	recordWithin = 2 * time.Second
)

// turnedAway writes down who was turned away, though known.
type turnedAway struct {
	history History
	log     *zap.Logger
	now     func() time.Time

	mu                 sync.Mutex
	members, outsiders recently
	overflow           recently // told that there are more
}

func newTurnedAway(c Config) *turnedAway {
	return &turnedAway{
		history: c.History, log: c.Log, now: c.Now,
		members: newRecently(maxMembers), outsiders: newRecently(maxOutsiders), overflow: newRecently(1),
	}
}

// note logs and audits, at most once a minute for each identity, and so many
// identities in a minute.
func (t *turnedAway) note(ctx context.Context, who auth.Identity, code, detail string) {
	if !t.due(who) {
		return
	}
	t.log.Warn("access refused", zap.String("identity", who.Name), zap.Stringer("role", who.Role), zap.String("why", code), zap.String("detail", detail))
	if who.Name == "" { // from where it came forbids it; nobody knows who it was
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	err := t.history.Record(ctx, &dlq.Entry{
		At: t.now(), Actor: who.Name, Role: who.Role, Action: actionRefused, Subject: dlq.SubjectAccess, On: Prefix, Reason: detail,
	})
	if err != nil {
		t.log.Warn("refused access could not be audited", zap.String("identity", who.Name), zap.Error(err))
	}
}

func (t *turnedAway) due(who auth.Identity) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, now := &t.members, t.now()
	if who.Role == dlq.NoRole {
		all = &t.outsiders
	}
	due, room := all.due(who.Name, now)
	if due && !room {
		if due, room := t.overflow.due("", now); due && room {
			t.log.Warn("access refused to more than are written down", zap.Stringer("role", who.Role), zap.Duration("within", turnedAwayEvery))
		}
	}
	return due && room
}

// recently remembers who was noted within turnedAwayEvery.
type recently struct {
	most int
	last map[string]time.Time
}

func newRecently(most int) recently { return recently{most, make(map[string]time.Time)} }

// due reports whether somebody was not noted recently, and whether there is room
// to note them. If both, they are noted now.
func (r *recently) due(name string, now time.Time) (due, room bool) {
	if last, ok := r.last[name]; ok && now.Sub(last) < turnedAwayEvery {
		return false, true
	}
	maps.DeleteFunc(r.last, func(_ string, last time.Time) bool { return now.Sub(last) >= turnedAwayEvery })
	if len(r.last) >= r.most {
		return true, false
	}
	r.last[name] = now
	return true, true
}
