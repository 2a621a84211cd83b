package workqueue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
)

func TestHandlesWhatIsPending(t *testing.T)         { handlesWhatIsPending(onEmbedded(t)) }
func TestHandlesWhatIsPendingOnGoogle(t *testing.T) { handlesWhatIsPending(onGoogle(t)) }

func handlesWhatIsPending(r *rig) {
	for _, group := range []bool{false, true} {
		path := map[bool]string{false: "errands/%s:%s", true: "towns/%s/chores/%s"}[group]
		before, later, closed := fmt.Sprintf(path, "a", "1"), fmt.Sprintf(path, "b", "1"), fmt.Sprintf(path, "b", "2")
		r.put(before, nil)
		r.put(closed, map[string]any{"status": "done", "owner": "x"})
		var l ledger
		q := r.run(vocabulary(group), l.does, nil)
		got := r.until(before, hasStatus("done"))
		r.put(later, nil)
		r.until(later, hasStatus("done"))
		if got["note"] != "kept" || got["lastError"] != nil {
			r.t.Errorf("document is %v", got)
		}
		if group && (got["lockUntil"] != nil || got["attempts"] != int64(1)) {
			r.t.Errorf("document is %v, want an attempt counted and no lock", got)
		}
		if !group && (got["lockedAt"] != nil || got["attempts"] != int64(0)) {
			r.t.Errorf("document is %v, want no attempt counted and no lock", got)
		}
		q.stop()
		if n := len(l.handled()); n != 2 {
			r.t.Errorf("handled %d times, want 2: %v", n, l.order)
		}
		if n := q.count(q.metrics.outcomes, "done"); n != 2 {
			r.t.Errorf("outcome done is counted %d times, want 2", n)
		}
	}
}

func TestFailureIsTriedAgainAndDiesAfterTheLastAttempt(t *testing.T) {
	failureIsTriedAgain(onEmbedded(t))
}

func TestFailureIsTriedAgainAndDiesAfterTheLastAttemptOnGoogle(t *testing.T) {
	failureIsTriedAgain(onGoogle(t))
}

func failureIsTriedAgain(r *rig) {
	for _, group := range []bool{false, true} {
		path := map[bool]string{false: "errands/%s:1", true: "towns/%s/chores/1"}[group]
		fails, panics, refuses, own := fmt.Sprintf(path, "fails"), fmt.Sprintf(path, "panics"), fmt.Sprintf(path, "refuses"), fmt.Sprintf(path, "own")
		r.put(fails, nil)
		r.put(panics, nil)
		r.put(refuses, nil)
		r.put(own, map[string]any{"maxAttempts": 1})
		var l ledger
		q := r.run(vocabulary(group), func(_ context.Context, c *Claim) (Outcome, error) {
			if n := l.note(c.Path); n != c.Attempt {
				r.t.Errorf("attempt %d of %s says it is %d", n, c.Path, c.Attempt)
			}
			switch c.Path {
			case panics:
				if c.Attempt == 1 {
					panic("out of luck")
				}
				return done, nil
			case refuses:
				return Outcome{}, Permanent("BAD", errNoLuck)
			default:
				return Outcome{}, Coded("LUCK", errNoLuck)
			}
		}, nil)
		for doc, want := range map[string]struct {
			status   string
			attempts int64
			code     any
		}{fails: {"dead", 3, "LUCK"}, refuses: {"dead", 1, "BAD"}, own: {"dead", 1, "LUCK"}, panics: {"done", map[bool]int64{true: 2, false: 1}[group], nil}} {
			got := r.until(doc, hasStatus(want.status))
			if want.status == "done" {
				if got["attempts"] != want.attempts || got["lastError"] != nil {
					r.t.Errorf("%s is %v", doc, got)
				}
				continue
			}
			if got["attempts"] != want.attempts || got["lastErrorCode"] != want.code || got["lastError"] != "no luck" {
				r.t.Errorf("%s is %v, want %+v", doc, got, want)
			}
		}
		q.stop()
		if n := l.times[fails]; n != 3 {
			r.t.Errorf("%d attempts, want 3", n)
		}
		grave := map[bool]string{false: "graves/fails:1", true: "graves/1"}[group]
		if got := r.get(grave); got["attempts"] == nil {
			r.t.Errorf("grave is %v", got)
		}
		if q.count(q.metrics.panics, partHandler) != 1 {
			r.t.Error("the panic is not counted once")
		}
	}
}

func TestStaleIsReclaimed(t *testing.T)         { staleIsReclaimed(onEmbedded(t)) }
func TestStaleIsReclaimedOnGoogle(t *testing.T) { staleIsReclaimed(onGoogle(t)) }

func staleIsReclaimed(r *rig) {
	long := time.Now().Add(-time.Hour)
	r.put("errands/a:stale", map[string]any{"status": "processing", "lockedAt": long, "owner": "gone/1", "attempts": 1})
	r.put("errands/a:last", map[string]any{"status": "processing", "lockedAt": long, "owner": "gone/2", "attempts": 2})
	r.put("errands/a:used", map[string]any{"status": "pending", "attempts": 3})
	r.put("towns/a/chores/used", map[string]any{"status": "pending", "attempts": 4})
	r.put("errands/a:held", map[string]any{"status": "processing", "lockedAt": time.Now(), "owner": "alive/1"})
	r.put("errands/a:odd", map[string]any{"status": "processing", "lockedAt": "yesterday"})
	r.put("towns/a/chores/stale", map[string]any{"status": "processing", "lockUntil": long, "attempts": 1})
	r.put("towns/a/chores/last", map[string]any{"status": "processing", "lockUntil": long, "attempts": 3})
	var reclaimed atomic.Int64
	h := func(_ context.Context, c *Claim) (Outcome, error) {
		if c.Reclaimed {
			reclaimed.Add(1)
		}
		return done, nil
	}
	q := r.run(vocabulary(false), h, nil)
	g := r.run(vocabulary(true), h, nil)
	r.until("errands/a:stale", hasStatus("done"))
	r.until("towns/a/chores/stale", hasStatus("done"))
	for _, path := range []string{"errands/a:last", "towns/a/chores/last"} {
		got := r.until(path, hasStatus("dead"))
		if got["lastErrorCode"] != CodeAbandoned || got["attempts"] != int64(3) {
			r.t.Errorf("%s is %v", path, got)
		}
	}
	for path, attempts := range map[string]int64{"errands/a:used": 3, "towns/a/chores/used": 4} {
		if got := r.until(path, hasStatus("dead")); got["lastErrorCode"] != CodeExhausted || got["attempts"] != attempts {
			r.t.Errorf("%s, which no worker had, is %v", path, got)
		}
	}
	q.stop()
	g.stop()
	if reclaimed.Load() != 2 {
		r.t.Errorf("%d told as reclaimed, want 2", reclaimed.Load())
	}
	for _, path := range []string{"errands/a:held", "errands/a:odd"} {
		if got := r.get(path); got["status"] != "processing" {
			r.t.Errorf("%s is %v, want it held", path, got)
		}
	}
}

func TestDueIsWaitedFor(t *testing.T)         { dueIsWaitedFor(onEmbedded(t)) }
func TestDueIsWaitedForOnGoogle(t *testing.T) { dueIsWaitedFor(onGoogle(t)) }

func dueIsWaitedFor(r *rig) {
	r.put("errands/a:soon", map[string]any{"dueAt": time.Now().Add(2 * time.Second)})
	r.put("errands/a:late", map[string]any{"dueAt": time.Now().Add(time.Hour)})
	r.put("errands/a:odd", map[string]any{"dueAt": "soon"})
	var l ledger
	q := r.run(vocabulary(false), func(ctx context.Context, c *Claim) (Outcome, error) {
		if due, ok := c.Data["dueAt"].(time.Time); ok && c.ClaimedAt.Before(due) {
			r.t.Errorf("%s was claimed %v early", c.Path, due.Sub(c.ClaimedAt))
		}
		return l.does(ctx, c)
	}, nil)
	r.until("errands/a:soon", hasStatus("done"))
	r.until("errands/a:odd", hasStatus("done"))
	q.stop()
	if got := r.get("errands/a:late"); got["status"] != "pending" {
		r.t.Errorf("late is %v", got)
	}
}

// A clock of an instance that is an hour behind the server's, or ahead of it, changes
// nothing.
func TestClockBehind(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			r := onEmbedded(t)
			r.ahead.Store(int64(by))
			server := time.Now().Add(by)
			r.put("errands/a:now", nil)
			r.put("errands/a:late", map[string]any{"dueAt": server.Add(30 * time.Minute)})
			r.put("errands/a:held", map[string]any{"status": "processing", "lockedAt": server, "owner": "alive/1"})
			r.put("towns/a/chores/held", map[string]any{"status": "processing", "lockUntil": server.Add(time.Minute), "owner": "alive/1"})
			r.put("towns/a/chores/now", nil)
			tries := 0
			q := r.run(vocabulary(false), func(_ context.Context, c *Claim) (Outcome, error) {
				if tries++; tries == 1 {
					return Outcome{}, errNoLuck
				}
				return done, nil
			}, nil)
			g := r.run(vocabulary(true), (&ledger{}).does, nil)
			r.until("errands/a:now", hasStatus("done"))
			r.until("towns/a/chores/now", hasStatus("done"))
			rounds := q.count(q.metrics.reads, byRound)
			r.await("two more rounds", func() bool { return q.count(q.metrics.reads, byRound) > rounds+4 })
			q.stop()
			g.stop()
			for path, want := range map[string]string{"errands/a:late": "pending", "errands/a:held": "processing", "towns/a/chores/held": "processing"} {
				if got := r.get(path); got["status"] != want {
					t.Errorf("%s is %v, want it %s", path, got, want)
				}
			}
		})
	}
}

func TestSilentListener(t *testing.T) {
	r := onEmbedded(t)
	free := r.server.Faults().Add(localfirestore.Fault{Method: "Listen", Stall: true})
	var l ledger
	q := r.run(vocabulary(false), l.does, func(c *Config) { c.Tuning.ProofAge = 100 * time.Millisecond; c.Tuning.Batch = 2 })
	for i := range 5 {
		r.put(fmt.Sprintf("errands/a:%d", i), nil)
	}
	for i := range 5 {
		r.until(fmt.Sprintf("errands/a:%d", i), hasStatus("done"))
	}
	// One that waits is seen by each round, and never by the listener.
	r.put("errands/a:late", map[string]any{"dueAt": time.Now().Add(time.Hour)})
	r.await("a rebuilt listener", func() bool { return q.count(q.metrics.rebuilds, rebuiltSilent) > 0 })
	free()
	r.put("errands/b:1", nil)
	r.until("errands/b:1", hasStatus("done"))
	r.await("found by the listener", func() bool {
		return q.count(q.metrics.found, byListener) > 0 || q.count(q.metrics.reads, byListener) > 0
	})
}

func TestListenerAloneIsEnoughForWhatIsNew(t *testing.T) {
	r := onEmbedded(t)
	var l ledger
	q := r.run(vocabulary(false), l.does, func(c *Config) { c.Tuning.Every = time.Hour })
	for i := range 20 {
		path := fmt.Sprintf("errands/a:%d", i)
		r.put(path, nil)
		if i == 10 {
			r.server.Faults().DropStreams(localfirestore.Drop{Code: codes.Aborted})
		}
		r.until(path, hasStatus("done"))
	}
	if q.count(q.metrics.rebuilds, rebuiltEnded) == 0 {
		t.Error("the listener was not rebuilt")
	}
}

func TestOneTenantsThousandDoNotDelayAnothersOne(t *testing.T)         { fair(onEmbedded(t)) }
func TestOneTenantsThousandDoNotDelayAnothersOneOnGoogle(t *testing.T) { fair(onGoogle(t)) }

func fair(r *rig) {
	// The one is the oldest, so that the listener's window of the newest does not
	// hold it, and the last by name.
	r.put("errands/zoe:1", nil)
	r.many("all", 1000)
	const workers = 4
	var l ledger
	// The listener tells of the thousand as they are done, however slow the round is that
	// finds the one: none is done before.
	found := make(chan struct{})
	free := sync.OnceFunc(func() { close(found) })
	q := r.run(vocabulary(false), func(ctx context.Context, c *Claim) (Outcome, error) {
		if c.Tenant != "zoe" {
			<-found
		}
		return l.does(ctx, c)
	}, func(c *Config) { c.Tuning.Window = 100; c.Tuning.Workers = workers })
	r.t.Cleanup(free) // before the queue stops
	r.await("the one is found", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.line.knows("errands/zoe:1") || len(l.handled()) > 0
	})
	free()
	r.until("errands/zoe:1", hasStatus("done"))
	r.await("all", func() bool { return len(l.handled()) >= 1001 })
	q.stop()
	order := l.handled()
	for i, path := range order {
		if path == "errands/zoe:1" && i > 2*workers {
			r.t.Errorf("the one was handled after %d of the thousand", i)
		}
	}
	for path, n := range l.times {
		if n != 1 {
			r.t.Errorf("%s was handled %d times", path, n)
		}
	}
	reads := q.count(q.metrics.reads, byListener) + q.count(q.metrics.reads, byRound)
	r.t.Logf("%d reads to find 1,001 documents", reads)
}

func TestTwoInstancesShareTheWork(t *testing.T)         { twoInstances(onEmbedded(t), 300) }
func TestTwoInstancesShareTheWorkOnGoogle(t *testing.T) { twoInstances(onGoogle(t), 100) }

func twoInstances(r *rig, n int) {
	var l ledger
	var own [2]chan struct{}
	does := func(i int) HandlerFunc {
		own[i] = make(chan struct{})
		first := sync.OnceFunc(func() { close(own[i]) })
		return func(ctx context.Context, c *Claim) (Outcome, error) {
			first()
			select { // neither takes all before the other has begun
			case <-own[1-i]:
			case <-ctx.Done():
			}
			return l.does(ctx, c)
		}
	}
	first, second := does(0), does(1)
	a, b := r.run(vocabulary(false), first, nil), r.run(vocabulary(false), second, nil)
	r.many("a", n/2)
	r.many("b", n/2)
	r.await("all", func() bool { return len(l.handled()) >= n })
	a.stop()
	b.stop()
	for path, times := range l.times {
		if times != 1 {
			r.t.Errorf("%s was handled %d times", path, times)
		}
	}
	ours, theirs := a.count(a.metrics.claims, claimWon), b.count(b.metrics.claims, claimWon)
	if ours+theirs != n || ours == 0 || theirs == 0 {
		r.t.Errorf("claims won: %d and %d, want %d together, and each its share", ours, theirs, n)
	}
	r.t.Logf("won %d and %d, refused %d and %d", ours, theirs, a.count(a.metrics.claims, claimRefused), b.count(b.metrics.claims, claimRefused))
}
