package workqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/grpc"

	"google.golang.org/api/option"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// Whatever write of an instance is the last before it dies, the document is closed
// once, by another one, and what is created with it is there once.
func TestDeathBetweenAnyTwoWrites(t *testing.T)         { deaths(onEmbedded(t)) }
func TestDeathBetweenAnyTwoWritesOnGoogle(t *testing.T) { deaths(onGoogle(t)) }

func deaths(r *rig) {
	for last := 0; ; last++ {
		path := fmt.Sprintf("errands/d:%d", last)
		r.put(path, nil)
		mortal := r.mortal(int64(last))
		closes := func(who string) HandlerFunc {
			return func(ctx context.Context, c *Claim) (Outcome, error) {
				effect := c.queue.client.Doc("effects/" + c.Ref.ID) // its ID follows from the errand's
				_, err := effect.Set(ctx, map[string]any{"by": who})
				return Outcome{Word: "done", Status: "done", Creates: []Create{{r.client.Doc("receipts/" + c.Ref.ID), map[string]any{"by": who}}}}, err
			}
		}
		v := vocabulary(false)
		if r.server == nil {
			v.Term = 3 * time.Second // that clock cannot be put forward
		}
		first := r.run(v, closes("first"), func(c *Config) { c.Client = mortal.client })
		select {
		case <-mortal.dead:
		case <-mortal.idle(r, path):
		}
		r.ahead.Add(int64(2 * v.Term))
		second := r.run(v, closes("second"), nil)
		got := r.until(path, hasStatus("done"))
		second.stop()
		mortal.bury()
		first.stop()
		want := int64(1)
		if last == 0 || last > 2 {
			want = 0 // nothing was claimed, or nobody died
		}
		if got["attempts"] != want {
			r.t.Errorf("dead after %d writes: document is %v, want %d attempts", last, got, want)
		}
		for _, other := range []string{"effects/", "receipts/"} {
			if by := r.get(other + path[len("errands/"):])["by"]; by != map[bool]string{true: "first", false: "second"}[last > 2] {
				r.t.Errorf("dead after %d writes: %s is by %v", last, other, by)
			}
		}
		if last > 2 {
			return
		}
	}
}

// mortal is a client that dies after so many commits: nothing of it reaches the
// server any more, and it does not know.
type mortal struct {
	client *firestore.Client
	dead   chan struct{}
	buried context.Context
	bury   context.CancelFunc
}

func (r *rig) mortal(commits int64) *mortal {
	r.t.Helper()
	m := &mortal{dead: make(chan struct{})}
	m.buried, m.bury = context.WithCancel(context.Background())
	var sent atomic.Int64
	die := sync.OnceFunc(func() { close(m.dead) })
	intercept := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		dead := sent.Load() >= commits
		if method == "/google.firestore.v1.Firestore/Commit" {
			dead = sent.Add(1) > commits
		}
		if dead && method == "/google.firestore.v1.Firestore/Commit" {
			die()
			select {
			case <-m.buried.Done():
			case <-ctx.Done():
			}
			return context.Canceled
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	m.client = r.dial(intercept)
	return m
}

// dial opens a client of its own, whose calls pass through intercept.
func (r *rig) dial(intercept grpc.UnaryClientInterceptor) *firestore.Client {
	r.t.Helper()
	opts := append(local.FirestoreOptions(r.address), option.WithGRPCDialOption(grpc.WithChainUnaryInterceptor(intercept)))
	client, err := firestore.NewClient(context.Background(), r.project(), opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { client.Close() })
	return client
}

// project is the project of the test's documents.
func (r *rig) project() string {
	var project string
	fmt.Sscanf(r.client.Doc("a/b").Path, "projects/%10s", &project) // p- and eight characters
	return project
}

// idle is closed once the document is done.
func (m *mortal) idle(r *rig, path string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			snap, err := r.client.Doc(path).Get(context.Background())
			if err != nil || hasStatus("done")(snap.Data()) {
				return
			}
			select {
			case <-m.dead:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return done
}

// A commit that was applied and whose answer was lost is not done twice, and is no
// failure.
func TestLostAnswers(t *testing.T) {
	r := onEmbedded(t)
	var l ledger
	for skip := range 3 {
		remove := r.server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "errands", Skip: skip + 1, Times: 8, LoseResponse: true})
		path := fmt.Sprintf("errands/l:%d", skip)
		r.put(path, nil)
		q := r.run(vocabulary(false), l.does, nil)
		got := r.until(path, hasStatus("done"))
		remove()
		r.await("the end of the claim", func() bool { return q.count(q.metrics.outcomes, "done") == 1 })
		q.stop()
		if l.times[path] != 1 || got["attempts"] != int64(0) {
			t.Errorf("handled %d times: %v", l.times[path], got)
		}
	}
}

// Who has lost the lease changes nothing: not the document, and nothing else in a
// transaction of the claim.
func TestWhoLostTheLeaseChangesNothing(t *testing.T)         { lost(onEmbedded(t)) }
func TestWhoLostTheLeaseChangesNothingOnGoogle(t *testing.T) { lost(onGoogle(t)) }

func lost(r *rig) {
	taken := make(chan struct{})
	resume := make(chan struct{})
	var inner error
	slow := r.run(vocabulary(false), func(ctx context.Context, c *Claim) (Outcome, error) {
		close(taken)
		<-resume
		inner = c.Transaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
			return tx.Set(r.client.Doc("effects/slow"), map[string]any{"by": "slow"})
		})
		return Outcome{Word: "done", Status: "done", Creates: []Create{{r.client.Doc("receipts/slow"), map[string]any{}}}}, nil
	}, nil)
	r.put("errands/a:1", nil)
	<-taken
	// Somebody else changes the document in between: first beside the claim, then its lease.
	if _, err := r.client.Doc("errands/a:1").Update(r.t.Context(), []firestore.Update{
		{Path: "lockedAt", Value: time.Now().Add(-time.Hour)}, {Path: "front", Value: "end"},
	}); err != nil {
		r.t.Fatal(err)
	}
	quick := r.run(vocabulary(false), (&ledger{}).does, nil)
	r.until("errands/a:1", hasStatus("done"))
	quick.stop()
	before := r.get("errands/a:1")
	close(resume)
	r.await("the end of the lost claim", func() bool { return slow.count(slow.metrics.outcomes, outcomeLost) == 1 })
	slow.stop()
	after := r.get("errands/a:1")
	if !errors.Is(inner, ErrLost) || before["updatedAt"] != after["updatedAt"] || after["front"] != "end" {
		r.t.Errorf("transaction of the lost claim: %v; document before %v, after %v", inner, before, after)
	}
	for _, path := range []string{"effects/slow", "receipts/slow"} {
		if snap, err := r.client.Doc(path).Get(context.Background()); err == nil {
			r.t.Errorf("%s is there: %v", path, snap.Data())
		}
	}
}

// What somebody else changes beside the claim is kept, and a document that was
// deleted under a claim stays deleted.
func TestChangedInBetween(t *testing.T)         { changed(onEmbedded(t)) }
func TestChangedInBetweenOnGoogle(t *testing.T) { changed(onGoogle(t)) }

func changed(r *rig) {
	ctx := context.Background()
	q := r.run(vocabulary(false), func(_ context.Context, c *Claim) (Outcome, error) {
		if c.Path == "errands/a:deleted" {
			_, err := c.Ref.Delete(ctx)
			return done, err
		}
		_, err := c.Ref.Update(ctx, []firestore.Update{{Path: "front", Value: "end"}})
		return done, err
	}, nil)
	r.put("errands/a:deleted", nil)
	r.put("errands/a:changed", nil)
	if got := r.until("errands/a:changed", hasStatus("done")); got["front"] != "end" {
		r.t.Errorf("document is %v", got)
	}
	r.await("the end of the lost claim", func() bool { return q.count(q.metrics.outcomes, outcomeLost) == 1 })
	q.stop()
	if _, err := r.client.Doc("errands/a:deleted").Get(ctx); err == nil {
		r.t.Error("the deleted document is there again")
	}
}

// A stop lets handlers end; who does not gives the claim back, and no attempt is
// counted.
func TestStop(t *testing.T)         { stops(onEmbedded(t)) }
func TestStopOnGoogle(t *testing.T) { stops(onGoogle(t)) }

func stops(r *rig) {
	for _, group := range []bool{false, true} {
		id := uuid.NewString()
		path := map[bool]string{false: "errands/%s:%s", true: "towns/%s/chores/%s"}[group]
		ends, hangs := fmt.Sprintf(path, id, "ends"), fmt.Sprintf(path, id, "hangs")
		r.put(ends, nil)
		r.put(hangs, nil)
		taken := make(chan struct{}, 2)
		resume := make(chan struct{})
		q := r.run(vocabulary(group), func(ctx context.Context, c *Claim) (Outcome, error) {
			taken <- struct{}{}
			if c.Path == ends {
				<-resume
				return done, nil
			}
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}, func(c *Config) { c.Tuning.StopBudget = 100 * time.Millisecond })
		<-taken
		<-taken
		time.AfterFunc(50*time.Millisecond, func() { close(resume) })
		q.stop()
		if got := r.get(ends); got["status"] != "done" {
			r.t.Errorf("what ends is %v", got)
		}
		if got := r.get(hangs); got["status"] != "pending" || got["attempts"] != int64(0) || got["lastError"] != nil || got["lockUntil"] != nil {
			r.t.Errorf("what hangs is %v", got)
		}
		var l ledger
		next := r.run(vocabulary(group), l.does, nil)
		r.until(hangs, hasStatus("done"))
		next.stop()
	}
}

// A stop counts no attempt of a document that had been reclaimed, and who has it next
// knows that it was.
func TestStopGivesBackWhatWasReclaimed(t *testing.T)         { returnsReclaimed(onEmbedded(t)) }
func TestStopGivesBackWhatWasReclaimedOnGoogle(t *testing.T) { returnsReclaimed(onGoogle(t)) }

func returnsReclaimed(r *rig) {
	long := time.Now().Add(-time.Hour)
	for _, group := range []bool{false, true} {
		path, lease := "errands/a:1", "lockedAt"
		if group {
			path, lease = "towns/a/chores/1", "lockUntil"
		}
		v := vocabulary(group)
		if r.server == nil {
			v.Term = 3 * time.Second // that clock cannot be put forward
		}
		r.put(path, map[string]any{"status": "processing", lease: long, "owner": "gone/1", "attempts": 1})
		taken := make(chan struct{})
		q := r.run(v, func(ctx context.Context, _ *Claim) (Outcome, error) {
			close(taken)
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}, func(c *Config) { c.Tuning.StopBudget = 10 * time.Millisecond })
		<-taken
		q.stop()
		if got := r.get(path); got["status"] != "processing" || got["attempts"] != int64(1) {
			r.t.Errorf("document is %v, want it as it was found", got)
		}
		r.ahead.Add(int64(2 * v.Term))
		var reclaimed atomic.Bool
		var attempt atomic.Int64
		next := r.run(v, func(_ context.Context, c *Claim) (Outcome, error) {
			reclaimed.Store(c.Reclaimed)
			attempt.Store(int64(c.Attempt))
			return done, nil
		}, nil)
		r.until(path, hasStatus("done"))
		next.stop()
		want := map[bool]int64{false: 3, true: 2}[group]
		if !reclaimed.Load() || attempt.Load() != want {
			r.t.Errorf("the next has reclaimed it: %v, in attempt %d, want %d", reclaimed.Load(), attempt.Load(), want)
		}
	}
}
