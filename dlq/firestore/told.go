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

// Heard is what one knows of a listener besides its snapshots. It is asked by whoever
// takes these.
type Heard struct {
	most   int64 // bytes at once; 0: any number
	over   Told
	opened bool
}

// Over returns what was told when that was too much. It reports false while it was not.
func (h *Heard) Over() (Told, bool) { return h.over, h.over.Documents > 0 }

// Opened reports whether a stream was opened since it was asked last: for the listener's
// first snapshot, and for the first one after the SDK opened its stream again, as it
// does by itself.
func (h *Heard) Opened() bool {
	opened := h.opened
	h.opened = false
	return opened
}

// Hear returns a context for one of the SDK's listeners, which collects all documents
// of a snapshot before it gives one of them: with it, a stream that tells of more than so
// many bytes at once ends, and so does the listener; 0 is no bound. It is ended by
// OutOfRange, which the SDK takes for final.
func Hear(ctx context.Context, bytes int64) (context.Context, *Heard) {
	h := &Heard{most: bytes}
	return context.WithValue(ctx, heardKey{}, h), h
}

type heardKey struct{}

// heard follows the streams whose context asks for it.
var heard = option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(func(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	h, ok := ctx.Value(heardKey{}).(*Heard)
	if !ok {
		return open(ctx, desc, conn, method, opts...)
	}
	codec := &measuring{CodecV2: encoding.GetCodecV2("proto")}
	stream, err := open(ctx, desc, conn, method, append(opts, grpc.ForceCodecV2(codec))...)
	if err != nil {
		return nil, err
	}
	h.opened = true
	return &heardStream{ClientStream: stream, heard: h, codec: codec}, nil
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

type heardStream struct {
	grpc.ClientStream

	heard   *Heard
	codec   *measuring
	told    Told
	current bool // all that stood when the stream opened was told
}

func (s *heardStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	answer, ok := m.(*pb.ListenResponse)
	if !ok {
		return nil
	}
	s.follow(answer)
	if s.heard.most == 0 || s.told.Bytes <= s.heard.most {
		return nil
	}
	s.heard.over = s.told
	return status.Error(codes.OutOfRange, fmt.Sprintf("%d documents of %d bytes together came at once", s.told.Documents, s.told.Bytes))
}

// follow counts what the SDK collects, and forgets it where the SDK makes a snapshot of
// it, or drops it.
func (s *heardStream) follow(answer *pb.ListenResponse) {
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
