package firestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/dlq"
	"outboxrelay/dlq/firestore/lastanswer"
)

// Commit applies all writes or none, in one call, and returns the server's
// commit time. It is dlq.Store's Commit.
func (c *Client) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	times, err := c.CommitEach(ctx, writes)
	if err != nil {
		return time.Time{}, err
	}
	return dlq.Latest(times), nil
}

// CommitEach is Commit, and returns the update time of each document after it, as
// relay.Store wants it.
//
// The SDK has no way for this: its BulkWriter is neither atomic nor fast (batches of
// 20), a transaction needs one call more, and its WriteBatch, besides that it is
// deprecated, goes through reflection over every value.
func (c *Client) CommitEach(ctx context.Context, writes []dlq.Write) ([]time.Time, error) {
	times, err := c.commit(ctx, writes)
	if err != nil {
		return nil, Failure("commit", err)
	}
	return times, nil
}

func (c *Client) commit(ctx context.Context, writes []dlq.Write) ([]time.Time, error) {
	req, sent, err := c.commitRequest(writes)
	if err != nil {
		return nil, err
	}
	ctx, last := lastanswer.Keep(ctx)
	res, err := c.generated.Commit(c.Outgoing(ctx), req)
	if err != nil {
		return nil, last.Explain(err)
	}
	if got := len(res.GetWriteResults()); got != len(sent) {
		return nil, fmt.Errorf("the answer holds %d results of %d writes", got, len(sent))
	}
	times := make([]time.Time, len(writes))
	for i, r := range res.GetWriteResults() {
		if t := r.GetUpdateTime(); t.IsValid() {
			times[sent[i]] = t.AsTime()
		}
	}
	return times, nil
}

// commitRequest makes the request, whose writes are on the wire already: in its
// unknown fields. Its own Writes are empty until somebody has decoded them. sent are the
// indexes of those that say anything.
func (c *Client) commitRequest(writes []dlq.Write) (req *pb.CommitRequest, sent []int, err error) {
	e := wire{encoder: encoder{client: c}}
	sent = make([]int, 0, len(writes))
	for i, w := range writes {
		before := len(e.out)
		if err := e.add(w); err != nil {
			return nil, nil, err
		}
		if len(e.out) > before {
			sent = append(sent, i)
		}
		if i == 0 { // most are of one kind
			e.out = slices.Grow(e.out, min((len(e.out)+slack)*(len(writes)-1), mostRoom))
		}
	}
	if len(e.out) == 0 {
		return nil, nil, errors.New("nothing to commit")
	}
	req = &pb.CommitRequest{Database: c.database}
	req.ProtoReflect().SetUnknown(e.out)
	return req, sent, nil
}

const (
	// slack is by how many bytes a write may well be longer than the first of its commit.
	slack = 8
	// mostRoom is how many bytes are taken ahead at most, well above those of 200 marks:
	// a commit may begin with a dead letter of 1 MiB, and go on with marks.
	mostRoom = 128 << 10
)
