package pubsub

import (
	"slices"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	gpb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What is on the wire already is sent with all that the request says besides.
func TestOwnBuffersSendWhatIsOnTheWire(t *testing.T) {
	commit := &firestorepb.CommitRequest{Database: "database", Transaction: []byte("t")}
	commit.ProtoReflect().SetUnknown([]byte{18, 0})
	want, err := proto.Marshal(commit)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ownBuffers{}.Marshal(commit)
	if err != nil || string(got.Materialize()) != string(want) {
		t.Errorf("it is sent as %q, %v; want %q", got.Materialize(), err, want)
	}
}

// What a request that is taken apart could say besides would be lost.
func TestOwnBuffersKnowAllThatARequestSays(t *testing.T) {
	for req, want := range map[proto.Message][]protoreflect.Name{
		&gpb.PublishRequest{}:        {"topic", "messages"},
		&firestorepb.CommitRequest{}: {"database", "writes", "transaction", "request_options"},
	} {
		fields := req.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if name := fields.Get(i).Name(); !slices.Contains(want, name) {
				t.Errorf("a %T says %s, which is not sent", req, name)
			}
		}
	}
}

// A request is encoded as gRPC encodes it, into memory of its own size.
func TestOwnBuffersTakeNoMoreThanARequest(t *testing.T) {
	req := &gpb.PublishRequest{Topic: "topic", Messages: []*gpb.PubsubMessage{{Data: make([]byte, 40_000)}}}
	own, err := ownBuffers{}.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := encoding.GetCodecV2("proto").Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Free()
	var read gpb.PublishRequest
	if err := (ownBuffers{}).Unmarshal(own, &read); err != nil || !proto.Equal(&read, req) {
		t.Errorf("read %v, %v", &read, err)
	}
	if string(own.Materialize()) != string(theirs.Materialize()) {
		t.Error("it is encoded otherwise than by gRPC")
	}
	if got, want := cap(own[0].ReadOnlyData()), 41_000; got > want {
		t.Errorf("takes %d bytes, want %d at most", got, want)
	}
	if _, err := (ownBuffers{}).Marshal("no message"); err == nil {
		t.Error("what is no message is encoded")
	}
}
