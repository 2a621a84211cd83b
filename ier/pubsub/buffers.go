package pubsub

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // which answers are decoded by
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// OwnBuffers has a connection, to Firestore as well, encode each request into memory
// of its own size. gRPC's own codec takes it from a pool whose sizes go from 32 KiB to
// 1 MiB at once: a commit or a run of a backlog takes the latter, and a dozen are
// under way.
var OwnBuffers = grpc.WithDefaultCallOptions(grpc.ForceCodecV2(ownBuffers{}))

type ownBuffers struct{}

func (ownBuffers) Name() string { return "proto" }

func (ownBuffers) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return encoding.GetCodecV2("proto").Marshal(v)
	}
	encoded, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
}

func (ownBuffers) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}
