package firestore

import (
	"context"
	"errors"
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

func (c *Client) commitRequest(writes []dlq.Write) (*pb.CommitRequest, error) {
	e := encoder{client: c}
	out := make([]*pb.Write, 0, len(writes))
	for _, w := range writes {
		message, err := e.write(w)
		if err != nil {
			return nil, err
		}
		if message != nil {
			out = append(out, message)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("nothing to commit")
	}
	return &pb.CommitRequest{Database: c.database, Writes: out}, nil
}
