package firestore

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/dlq"
)

// Commit applies all writes or none, in one call, and returns the server's
// commit time. It is dlq.Store's Commit, and relay.Store's.
//
// The SDK has no way for this: its BulkWriter is neither atomic nor fast (batches of
// 20), a transaction needs one call more, and its WriteBatch, besides that it is
// deprecated, goes through reflection over every value.
func (c *Client) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	at, err := c.commit(ctx, writes)
	if err != nil {
		return time.Time{}, Failure("commit", err)
	}
	return at, nil
}

func (c *Client) commit(ctx context.Context, writes []dlq.Write) (at time.Time, err error) {
	req, err := c.commitRequest(writes)
	if err != nil {
		return at, err
	}
	res, err := c.generated.Commit(c.Outgoing(ctx), req)
	if err != nil {
		return at, err
	}
	if len(res.GetWriteResults()) == 0 {
		return at, errors.New("the answer holds no result")
	}
	for _, r := range res.GetWriteResults() { // a no-op keeps its old update time; the latest is the commit's
		if t := r.GetUpdateTime(); t.IsValid() && t.AsTime().After(at) {
			at = t.AsTime()
		}
	}
	return at, nil
}

// commitRequest makes the request, whose writes are on the wire already: in its
// unknown fields. Its own Writes are empty until somebody has decoded them.
func (c *Client) commitRequest(writes []dlq.Write) (*pb.CommitRequest, error) {
	e := wire{encoder: encoder{client: c}}
	for i, w := range writes {
		if err := e.add(w); err != nil {
			return nil, err
		}
		if i == 0 { // most are of one kind
			e.out = slices.Grow(e.out, min((len(e.out)+slack)*(len(writes)-1), mostRoom))
		}
	}
	if len(e.out) == 0 {
		return nil, errors.New("nothing to commit")
	}
	req := &pb.CommitRequest{Database: c.database}
	req.ProtoReflect().SetUnknown(e.out)
	return req, nil
}

const (
	// slack is by how many bytes a write may well be longer than the first of its commit.
	slack = 8
	// mostRoom is how many bytes are taken ahead at most, well above those of 200 marks:
	// a commit may begin with a dead letter of 1 MiB, and go on with marks.
	mostRoom = 128 << 10
)
