package admin

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

const (
	actionRefused = "refused" // the audit's word for somebody who was turned away
	// turnedAwayEvery is how often one identity gets an audit entry for that, at each operation.
	turnedAwayEvery = time.Minute
	// maxMembers and maxOutsiders are how many entries identities with a role and without
	// get within that time. Those with a role are as many as the roles file names, and the
	// operations are few; without one anybody in the world may come, under many names, and
	// gets one whatever it asks for.
	maxMembers   = 1000
	maxOutsiders = 60
	// recordWithin bounds the write of an entry: who is turned away waits for it.
	recordWithin = 2 * time.Second
	// maxNotedPath bounds the path in an entry, in bytes.
	maxNotedPath = 1000
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

// note logs and audits, at most once a minute for each identity and route, and so many in
// a minute. The log does not tell IDs.
func (t *turnedAway) note(r *http.Request, c *call, who auth.Identity, code, detail string) {
	if !t.due(who, c.route) {
		return
	}
	t.log.Warn("access refused", zap.String("identity", who.Name), zap.Stringer("role", who.Role), zap.String("method", methodLabel(c.method)),
		zap.String("route", c.path()), zap.String("why", code), zap.String("detail", detail))
	if who.Name == "" { // from where it came forbids it; nobody knows who it was
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordWithin) // who hangs up is written down all the same
	defer cancel()
	err := t.history.Record(ctx, &dlq.Entry{
		At: t.now(), Actor: who.Name, Role: who.Role, Action: actionRefused, Subject: dlq.SubjectAccess, On: Prefix, Reason: asked(r) + ": " + detail,
	})
	if err != nil {
		t.log.Warn("refused access could not be audited", zap.String("identity", who.Name), zap.Error(err))
	}
}

// asked is what somebody asked for, in printable characters.
func asked(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), Prefix)
	if len(path) > maxNotedPath {
		path = path[:maxNotedPath] + "…"
	}
	return methodLabel(r.Method) + " " + path
}

func (t *turnedAway) due(who auth.Identity, to *route) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, now := &t.members, t.now()
	if who.Role == dlq.NoRole {
		all = &t.outsiders
	}
	name := who.Name
	if to != nil {
		name += " " + to.name
	}
	due, room := all.due(name, now)
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
