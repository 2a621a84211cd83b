package pubsub

import (
	"context"
	"fmt"
	"unicode/utf8"

	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"outboxrelay/contracts"
)

// publish sends messages to topic, a full name, in one request. It fails on text that
// is not UTF-8, which protobuf would refuse.
func publish(ctx context.Context, client *vkit.TopicAdminClient, topic string, messages []*contracts.Message) error {
	for _, m := range messages {
		if err := checkText(m); err != nil {
			return err
		}
	}
	own := gax.WithGRPCOptions(grpc.ForceCodecV2(publishing{messages: messages}))
	_, err := client.Publish(ctx, &pubsubpb.PublishRequest{Topic: topic}, own)
	return err
}

// publishing is the codec of one call: it puts the call's messages on the wire behind
// what the request says itself, its topic. All go into one piece of memory, which gRPC
// gives back to requests once it is written, as protobuf walks each map by reflection,
// twice, with four allocations for each entry, and copies the data.
type publishing struct {
	ownBuffers
	messages []*contracts.Message
}

// requests is where requests are put together. The sizes are those of runs of a few
// records, up to the largest of requestOf.
var requests = buffers(10, 11, 12, 13, 14, 15, 16, 17, 18, 20)

// buffers is a pool of memory in the sizes of these powers of two.
func buffers(powers ...uint8) mem.BufferPool {
	pool, err := mem.NewBinaryTieredBufferPool(powers...)
	if err != nil {
		panic(err) // for sizes that are none
	}
	return pool
}

// Marshal implements encoding.CodecV2. A call that is repeated has its messages encoded
// again.
func (p publishing) Marshal(v any) (mem.BufferSlice, error) {
	req, ok := v.(*pubsubpb.PublishRequest)
	if !ok {
		return p.ownBuffers.Marshal(v)
	}
	size := fieldSize(fieldTopic, len(req.GetTopic()))
	for _, m := range p.messages {
		size += fieldSize(fieldMessages, messageSize(m))
	}
	memory := requests.Get(size)
	wire := appendText((*memory)[:0], fieldTopic, req.GetTopic())
	for _, m := range p.messages {
		wire = appendMessage(wire, m)
	}
	*memory = wire
	return mem.BufferSlice{mem.NewBuffer(memory, requests)}, nil
}

// appendMessage adds a message, of text that checkText took.
func appendMessage(wire []byte, m *contracts.Message) []byte {
	wire = protowire.AppendTag(wire, fieldMessages, protowire.BytesType)
	wire = protowire.AppendVarint(wire, uint64(messageSize(m)))
	if len(m.Data) > 0 {
		wire = protowire.AppendTag(wire, fieldData, protowire.BytesType)
		wire = protowire.AppendBytes(wire, m.Data)
	}
	for name, value := range m.Attributes {
		wire = appendAttribute(wire, name, value)
	}
	if m.OrderingKey != "" {
		wire = appendText(wire, fieldOrderingKey, m.OrderingKey)
	}
	return wire
}

// checkText refuses a message whose text protobuf would refuse.
func checkText(m *contracts.Message) error {
	if !utf8.ValidString(m.OrderingKey) {
		return invalidText("the ordering key")
	}
	for name, value := range m.Attributes {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return invalidText(fmt.Sprintf("attribute %q", name))
		}
	}
	return nil
}

func invalidText(what string) error {
	return &contracts.Failure{
		Kind: contracts.Permanent, Code: codeInvalidText,
		Err: fmt.Errorf("publish message: %s is not UTF-8", what),
	}
}

// Numbers of fields: PublishRequest's, PubsubMessage's, and those of an entry of a map.
const (
	fieldTopic       protowire.Number = 1
	fieldMessages    protowire.Number = 2
	fieldData        protowire.Number = 1
	fieldAttributes  protowire.Number = 2
	fieldOrderingKey protowire.Number = 5
	fieldKey         protowire.Number = 1
	fieldValue       protowire.Number = 2
)

// fieldSize is what a field of so many bytes takes with its tag and its length.
func fieldSize(field protowire.Number, bytes int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(bytes)
}

// messageSize is what a message takes within its own length.
func messageSize(m *contracts.Message) int {
	size := 0
	if len(m.Data) > 0 {
		size += fieldSize(fieldData, len(m.Data))
	}
	for name, value := range m.Attributes {
		size += fieldSize(fieldAttributes, attributeSize(name, value))
	}
	if m.OrderingKey != "" {
		size += fieldSize(fieldOrderingKey, len(m.OrderingKey))
	}
	return size
}

// attributeSize is what an attribute takes within its own length.
func attributeSize(name, value string) int {
	return fieldSize(fieldKey, len(name)) + fieldSize(fieldValue, len(value))
}

func appendAttribute(wire []byte, name, value string) []byte {
	wire = protowire.AppendTag(wire, fieldAttributes, protowire.BytesType)
	wire = protowire.AppendVarint(wire, uint64(attributeSize(name, value)))
	wire = appendText(wire, fieldKey, name)
	return appendText(wire, fieldValue, value)
}

func appendText(wire []byte, field protowire.Number, text string) []byte {
	wire = protowire.AppendTag(wire, field, protowire.BytesType)
	return protowire.AppendString(wire, text)
}
