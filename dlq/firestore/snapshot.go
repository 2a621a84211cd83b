package firestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Snapshot returns what the SDK makes of the document in the answer to a query that
// was not asked through it. The SDK makes snapshots only of what it reads itself: here
// it reads the answer, and nothing goes to the server.
func (c *Client) Snapshot(answer *pb.RunQueryResponse) (*firestore.DocumentSnapshot, error) {
	if answer.GetDocument() == nil {
		return nil, errors.New("the answer holds no document")
	}
	ctx := context.WithValue(context.Background(), answerKey{}, answer)
	it := c.Collection("answered").Documents(ctx)
	defer it.Stop()
	return it.Next()
}

type answerKey struct{}

// readHere answers queries whose context has the answer.
var readHere = option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(func(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if answer, ok := ctx.Value(answerKey{}).(*pb.RunQueryResponse); ok {
		return &answered{ctx: ctx, answer: answer}, nil
	}
	return open(ctx, desc, conn, method, opts...)
}))

// answered is the stream of one answer.
type answered struct {
	ctx    context.Context //nolint:containedctx // a stream has one
	answer *pb.RunQueryResponse
}

func (s *answered) Header() (metadata.MD, error) { return nil, nil }
func (s *answered) Trailer() metadata.MD         { return nil }
func (s *answered) CloseSend() error             { return nil }
func (s *answered) Context() context.Context     { return s.ctx }
func (s *answered) SendMsg(any) error            { return nil }

func (s *answered) RecvMsg(m any) error {
	if s.answer == nil {
		return io.EOF
	}
	into, ok := m.(*pb.RunQueryResponse)
	if !ok {
		return fmt.Errorf("a query's answer is no %T", m)
	}
	into.Document, into.ReadTime = s.answer.GetDocument(), s.answer.GetReadTime()
	s.answer = nil
	return nil
}
