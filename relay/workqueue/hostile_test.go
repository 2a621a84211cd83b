package workqueue

import (
	"context"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"

	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// putFull creates a document that has room for so many bytes more.
func (r *rig) putFull(path string, room int) {
	r.t.Helper()
	fields := func(pad int) map[string]any {
		return map[string]any{"status": "pending", "createdAt": firestore.ServerTimestamp, "pad": strings.Repeat("x", pad)}
	}
	scratch := r.client.Doc(path + "-scratch") // which is longer by eight bytes
	size := sort.Search(1<<20, func(pad int) bool {
		_, err := scratch.Set(r.t.Context(), fields(pad))
		return err != nil
	})
	if _, err := scratch.Delete(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.client.Doc(path).Set(r.t.Context(), fields(size-1+8-room)); err != nil {
		r.t.Fatal(err)
	}
}

// A document without room for a claim, or for what closes it, is closed by as little as
// that takes, and hides none that stands behind it.
func TestDocumentWithoutRoom(t *testing.T)         { noRoom(onEmbedded(t)) }
func TestDocumentWithoutRoomOnGoogle(t *testing.T) { noRoom(onGoogle(t)) }

func noRoom(r *rig) {
	r.putFull("errands/a:claim", 0)
	r.putFull("errands/a:error", 200)
	r.put("errands/a:other", nil)
	var tries atomic.Int64
	q := r.run(vocabulary(false), func(_ context.Context, c *Claim) (Outcome, error) {
		if c.Path == "errands/a:error" {
			tries.Add(1)
			return Outcome{}, Permanent("BAD", errorString(strings.Repeat("e", maxError)))
		}
		return done, nil
	}, func(c *Config) { c.Log = zap.NewNop() })
	r.until("errands/a:other", hasStatus("done"))
	r.until("errands/a:error", hasStatus("dead"))
	r.until("errands/a:claim", hasStatus("dead"))
	q.stop()
	for path, code := range map[string]string{"graves/a:claim": CodeUnwritable, "graves/a:error": "BAD"} {
		if got := r.get(path); got["code"] != code {
			r.t.Errorf("%s is %v", path, got)
		}
	}
	if tries.Load() != 1 {
		r.t.Errorf("%d tries, want 1", tries.Load())
	}
}

type errorString string

func (e errorString) Error() string { return string(e) }

// What the handler has Firestore write, and what the SDK does not even send, ends the
// document and holds no worker.
func TestUnwritableOutcome(t *testing.T) {
	r := onEmbedded(t)
	const noText = "a\xff"
	r.put("errands/a:creates", nil)
	r.put("errands/a:updates", nil)
	r.put("errands/a:grave", nil)
	v := vocabulary(false)
	dead := v.Dead
	v.Dead = func(c *Claim, f Failure) Outcome {
		out := dead(c, f)
		if c.Path == "errands/a:grave" {
			out.Creates[0].Data = map[string]any{"text": noText}
		}
		return out
	}
	var l ledger
	q := r.run(v, func(_ context.Context, c *Claim) (Outcome, error) {
		l.note(c.Path)
		out := done
		switch c.Path {
		case "errands/a:creates":
			out.Creates = []Create{{r.client.Doc("receipts/x"), map[string]any{"text": noText}}}
		case "errands/a:updates":
			out.Updates = []firestore.Update{{Path: "text", Value: noText}}
		default:
			return Outcome{}, Permanent("BAD", errNoLuck)
		}
		return out, nil
	}, func(c *Config) { c.Log = zap.NewNop() })
	for path, want := range map[string]string{"errands/a:creates": "dead", "errands/a:updates": "done", "errands/a:grave": "dead"} {
		r.until(path, hasStatus(want))
	}
	q.stop()
	for path, want := range map[string]int{"errands/a:creates": 3, "errands/a:updates": 1, "errands/a:grave": 1} {
		if got := l.times[path]; got != want {
			t.Errorf("%s was handled %d times, want %d", path, got, want)
		}
	}
	if got := r.get("errands/a:creates"); got["lastErrorCode"] != CodeUnwritable {
		t.Errorf("document is %v", got)
	}
}

// A document that the SDK cannot read is dead and ends no process.
func TestUnreadableDocument(t *testing.T) {
	r := onEmbedded(t)
	r.put("errands/a:odd", map[string]any{"odd": 1})
	r.put("errands/a:other", nil)
	client, err := firestore.NewClient(t.Context(), r.project(), append(local.FirestoreOptions(r.address), firestoretest.Unreadable("odd"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	q := r.run(vocabulary(false), (&ledger{}).does, func(c *Config) { c.Client, c.Log = client, zap.NewNop() })
	r.until("errands/a:other", hasStatus("done"))
	if got := r.until("errands/a:odd", hasStatus("dead")); got["lastErrorCode"] != CodeUnreadable {
		t.Errorf("document is %v", got)
	}
	q.stop()
}

// A panic of what closes a document ends no process.
func TestPanicAtTheEnd(t *testing.T) {
	r := onEmbedded(t)
	v := vocabulary(false)
	v.Backoff = func(int) time.Duration { panic("no wait") }
	r.put("errands/a:1", nil)
	q := r.run(v, func(_ context.Context, c *Claim) (Outcome, error) {
		if c.Path == "errands/a:1" {
			return Outcome{}, errNoLuck
		}
		return done, nil
	}, func(c *Config) { c.Log = zap.NewNop() })
	r.await("the panic", func() bool { return q.count(q.metrics.panics, partSettle) == 1 })
	r.put("errands/a:2", nil)
	r.until("errands/a:2", hasStatus("done"))
}

// A name that sorts behind what its tenant's last one could be does not hold a round.
func TestNameBehindTheLast(t *testing.T) {
	r := onEmbedded(t)
	r.many("a", 3)
	const behind = "errands/a:\U0010FFFF\U0010FFFF"
	r.put(behind, nil)
	r.put("errands/b:1", nil)
	q, err := New(Config{Client: r.client, Vocabulary: vocabulary(false), Handler: HandlerFunc((&ledger{}).does), Tuning: Tuning{Batch: 2}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if fresh, err := q.round(ctx, true); err != nil || fresh != 3 {
		t.Errorf("a round found %d, %v; want two of a and one of b", fresh, err)
	}
}
