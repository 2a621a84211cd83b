package workqueue

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc"
)

// Who loses the document after he looked, and before he commits, changes nothing, and creates
// nothing beside it.
func TestLostBetweenLookAndCommit(t *testing.T)         { lostInBetween(onEmbedded(t)) }
func TestLostBetweenLookAndCommitOnGoogle(t *testing.T) { lostInBetween(onGoogle(t)) }

func lostInBetween(r *rig) {
	const path = "errands/a:1"
	r.put(path, nil)
	var commits atomic.Int64
	slow := r.dial(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method == "/google.firestore.v1.Firestore/Commit" {
			if commits.Add(1) == 2 { // after the claim: the settlement
				taken := []firestore.Update{{Path: "owner", Value: "another"}, {Path: "lockedAt", Value: firestore.ServerTimestamp}}
				if _, err := r.client.Doc(path).Update(ctx, taken); err != nil {
					r.t.Error(err)
				}
			}
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})
	v := vocabulary(false)
	v.Term = time.Hour // the other one's lease does not end here
	first := r.run(v, func(context.Context, *Claim) (Outcome, error) {
		return Outcome{Word: "done", Status: "done", Creates: []Create{{r.client.Doc("receipts/1"), map[string]any{"by": "first"}}}}, nil
	}, func(c *Config) { c.Client = slow })
	r.await("the loss is seen", func() bool { return first.count(first.metrics.outcomes, outcomeLost) == 1 })
	first.stop()
	if got := r.get(path); got["status"] != "processing" || got["owner"] != "another" {
		r.t.Errorf("document is %v, want it as the other one left it", got)
	}
	if found, err := r.client.Doc("receipts/1").Get(r.t.Context()); err == nil {
		r.t.Errorf("created beside it: %v, want nothing", found.Data())
	}
}
