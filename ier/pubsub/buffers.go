package pubsub

import (
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // which answers are decoded by
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// OwnBuffers has a connection, to Firestore as well, encode each request into memory
// of its own size. gRPC's own codec takes it from a pool whose sizes go from 32 KiB to
// 1 MiB at once: a commit or a run of a backlog takes the latter, and a dozen are
// under way. What is on the wire already, in a commit's unknown fields, is not copied:
// nobody may write to it as long as the call is out.
var OwnBuffers = grpc.WithDefaultCallOptions(grpc.ForceCodecV2(ownBuffers{}))

type ownBuffers struct{}

func (ownBuffers) Name() string { return "proto" }

func (ownBuffers) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	known, wire := apart(m)
	encoded, err := proto.Marshal(known)
	if err != nil {
		return nil, err
	}
	out := mem.BufferSlice{mem.SliceBuffer(encoded)}
	if len(wire) > 0 { // protobuf puts it last, too
		out = append(out, mem.SliceBuffer(wire))
	}
	return out, nil
}

func (ownBuffers) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// apart returns a request without what is on the wire already, and that. Only of
// commits is there any: to look at all others would have protobuf build, for each of
// their types, what reflection needs.
func apart(m proto.Message) (known proto.Message, wire []byte) {
	if r, ok := m.(*firestorepb.CommitRequest); ok {
		if wire = m.ProtoReflect().GetUnknown(); len(wire) > 0 && len(r.GetWrites()) == 0 {
			return &firestorepb.CommitRequest{Database: r.GetDatabase(), Transaction: r.GetTransaction(), RequestOptions: r.GetRequestOptions()}, wire
		}
	}
	return m, nil
}
