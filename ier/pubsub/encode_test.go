package pubsub

import (
	"bytes"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// plain is the request as protobuf encodes it by itself.
func plain(topic string, messages []*contracts.Message) *pubsubpb.PublishRequest {
	req := &pubsubpb.PublishRequest{Topic: topic}
	for _, m := range messages {
		req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{Data: m.Data, Attributes: m.Attributes, OrderingKey: m.OrderingKey})
	}
	return req
}

// Whatever protobuf takes is understood as it was meant, and in as many bytes;
// whatever it refuses is refused here.
func TestARequestIsWhatProtobufMakesOfIt(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 99).Draw(t, "odd") == 99 { // which fails all messages
			return "bad\xff"
		}
		return rapid.OneOf(rapid.String(), rapid.StringN(100, 300, -1)).Draw(t, "text")
	})
	message := rapid.Custom(func(t *rapid.T) *contracts.Message {
		return &contracts.Message{
			Data:        rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			OrderingKey: text.Draw(t, "key"),
			Attributes:  rapid.MapOfN(text, text, 0, 15).Draw(t, "attributes"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(message, 1, 5).Draw(t, "messages")
		want := plain("topic", messages)
		wantWire, refusal := proto.Marshal(want)
		req, err := encode("topic", messages)
		var wire []byte
		if err == nil {
			wire, err = proto.Marshal(req)
		}
		if err == nil {
			sent, err := ownBuffers{}.Marshal(req)
			if err != nil || !bytes.Equal(sent.Materialize(), wire) {
				t.Fatalf("the codec makes %q of it, %v; want %q", sent.Materialize(), err, wire)
			}
		}
		if (err != nil) != (refusal != nil) {
			t.Fatalf("got error %v, want %v", err, refusal)
		}
		if err != nil {
			return
		}
		got := &pubsubpb.PublishRequest{}
		if err := proto.Unmarshal(wire, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if len(wire) != len(wantWire) {
			t.Errorf("%d bytes, want %d", len(wire), len(wantWire))
		}
	})
}

func TestEncodingARunTakesThreeAllocations(t *testing.T) {
	var run []*contracts.Message
	for _, p := range parcels("key", 1, 100) {
		run = append(run, p.Message)
	}
	var got float64
	for tries := 0; tries == 0 || got > 3 && tries < 100; tries++ { // what other tests' connections allocate meanwhile is counted, too
		got = testing.AllocsPerRun(10, func() {
			req, err := encode("topic", run)
			if err != nil || proto.Size(req) == 0 {
				t.Error(err)
			}
		})
	}
	if got > 3 {
		t.Errorf("%v allocations for %d messages, want at most 3", got, len(run))
	}
}
