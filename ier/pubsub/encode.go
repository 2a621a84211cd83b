package pubsub

import (
	"fmt"
	"unicode/utf8"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/encoding/protowire"

	"outboxrelay/contracts"
)

// encode makes the request that publishes messages to topic, a full name. It
// fails on text that is not UTF-8, which protobuf would refuse.
//
// Messages are put on the wire here, all into one piece of memory, as protobuf walks
// each map by reflection, twice, with four allocations for each entry, and copies
// the data. What a request holds in its unknown fields goes out as it is (see
// OwnBuffers). So its own Messages are empty until somebody has decoded them.
func encode(topic string, messages []*contracts.Message) (*pubsubpb.PublishRequest, error) {
	total := 0
	for _, m := range messages {
		total += fieldSize(fieldMessages, messageSize(m))
	}
	wire := make([]byte, 0, total)
	for _, m := range messages {
		if !utf8.ValidString(m.OrderingKey) {
			return nil, invalidText("the ordering key")
		}
		wire = protowire.AppendTag(wire, fieldMessages, protowire.BytesType)
		wire = protowire.AppendVarint(wire, uint64(messageSize(m)))
		if len(m.Data) > 0 {
			wire = protowire.AppendTag(wire, fieldData, protowire.BytesType)
			wire = protowire.AppendBytes(wire, m.Data)
		}
		for name, value := range m.Attributes {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				return nil, invalidText(fmt.Sprintf("attribute %q", name))
			}
			wire = appendAttribute(wire, name, value)
		}
		if m.OrderingKey != "" {
			wire = appendText(wire, fieldOrderingKey, m.OrderingKey)
		}
	}
	req := &pubsubpb.PublishRequest{Topic: topic}
	req.ProtoReflect().SetUnknown(wire)
	return req, nil
}

func invalidText(what string) error {
	return &contracts.Failure{
		Kind: contracts.Permanent, Code: codeInvalidText,
		Err: fmt.Errorf("publish message: %s is not UTF-8", what),
	}
}

// Numbers of fields: PublishRequest's, PubsubMessage's, and those of an entry of a map.
const (
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
