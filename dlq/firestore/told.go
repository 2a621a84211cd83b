package firestore

import (
	"context"
	"fmt"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec whose messages are measured
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Told is what a listener's stream told since its last snapshot.
type Told struct {
	Documents int
	Bytes     int64 // of them, as they came
}

// Overflow is how a listener ended whose stream told more than it might.
type Overflow struct{ told Told }

// Told returns what was told when that was too much. It reports false while it was not.
func (o *Overflow) Told() (Told, bool) { return o.told, o.told.Documents > 0 }

// Within returns a context for one of the SDK's listeners, which collects all documents
// of a snapshot before it gives one of them: with it, a stream that tells of more than so
// many bytes at once ends, and so does the listener. It is ended by OutOfRange, which the
// SDK takes for final. The overflow may be asked once the listener has ended.
func Within(ctx context.Context, bytes int64) (context.Context, *Overflow) {
	o := new(Overflow)
	return context.WithValue(ctx, withinKey{}, &within{most: bytes, overflow: o}), o
}

type withinKey struct{}

type within struct {
	most     int64
	overflow *Overflow
}

// bounded bounds the streams whose context asks for it.
var bounded = option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(func(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	w, ok := ctx.Value(withinKey{}).(*within)
	if !ok {
		return open(ctx, desc, conn, method, opts...)
	}
	codec := &measuring{CodecV2: encoding.GetCodecV2("proto")}
	stream, err := open(ctx, desc, conn, method, append(opts, grpc.ForceCodecV2(codec))...)
	if err != nil {
		return nil, err
	}
	return &boundedStream{ClientStream: stream, within: w, codec: codec}, nil
}))

// measuring notes how large a message is, which nobody has to count anew.
type measuring struct {
	encoding.CodecV2

	last int // bytes of the message that was received last
}

func (m *measuring) Unmarshal(data mem.BufferSlice, v any) error {
	m.last = data.Len()
	return m.CodecV2.Unmarshal(data, v)
}

type boundedStream struct {
	grpc.ClientStream

	within  *within
	codec   *measuring
	told    Told
	current bool // all that stood when the stream opened was told
}

func (s *boundedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	answer, ok := m.(*pb.ListenResponse)
	if !ok {
		return nil
	}
	s.follow(answer)
	if s.told.Bytes <= s.within.most {
		return nil
	}
	s.within.overflow.told = s.told
	return status.Error(codes.OutOfRange, fmt.Sprintf("%d documents of %d bytes together came at once", s.told.Documents, s.told.Bytes))
}

// follow counts what the SDK collects, and forgets it where the SDK makes a snapshot of
// it, or drops it.
func (s *boundedStream) follow(answer *pb.ListenResponse) {
	if answer.GetDocumentChange() != nil {
		s.told.Documents++
		s.told.Bytes += int64(s.codec.last)
		return
	}
	change := answer.GetTargetChange()
	if change == nil {
		return
	}
	switch change.GetTargetChangeType() {
	case pb.TargetChange_CURRENT:
		s.current = true
	case pb.TargetChange_RESET:
		s.current, s.told = false, Told{}
	case pb.TargetChange_NO_CHANGE:
		if s.current && len(change.GetTargetIds()) == 0 {
			s.told = Told{}
		}
	case pb.TargetChange_ADD, pb.TargetChange_REMOVE:
	}
}
