package pubsub

import (
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/encoding"
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
		var err error
		for _, m := range messages {
			if err == nil {
				err = checkText(m)
			}
		}
		if (err != nil) != (refusal != nil) {
			t.Fatalf("got error %v, want %v", err, refusal)
		}
		if err != nil {
			return
		}
		sent, err := publishing{messages: messages}.Marshal(&pubsubpb.PublishRequest{Topic: "topic"})
		if err != nil {
			t.Fatal(err)
		}
		wire := sent.Materialize()
		sent.Free() // what is put together next may lie where this did
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

// Who looks at the dead letter is told which text it is, which no service tells.
func TestTextThatIsNotUTF8IsNamed(t *testing.T) {
	c := setup(t)
	run := parcels("key", 1, 2)
	run[1].Message.Attributes[contracts.AttrProducer] = "bad\xff"
	errs := c.target(t, c.topic(t), Settings{}).Deliver(t.Context(), run)
	if errs[0] != nil || contracts.KindOf(errs[1]) != contracts.Permanent || contracts.CodeOf(errs[1]) != codeInvalidText {
		t.Fatalf("got %v, want the second alone refused as %s", errs, codeInvalidText)
	}
	if want := `attribute "producer" is not UTF-8`; !strings.Contains(errs[1].Error(), want) {
		t.Errorf("got %v, want %s", errs[1], want)
	}
}

// What a request took is taken for the next one, once it is written.
func TestRequestsTakeEachOthersMemory(t *testing.T) {
	var run []*contracts.Message
	for _, p := range parcels("key", 1, 100) {
		run = append(run, p.Message)
	}
	request := &pubsubpb.PublishRequest{Topic: "topic"}
	size := 0
	codec := encoding.CodecV2(publishing{messages: run})
	perRun := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			sent, err := codec.Marshal(request)
			if err != nil {
				b.Fatal(err)
			}
			size = sent.Len()
			sent.Free()
		}
	}).AllocedBytesPerOp()
	if perRun > int64(size)/2 {
		t.Errorf("%d bytes are allocated for a request of %d, want the memory of the one before", perRun, size)
	}
}
