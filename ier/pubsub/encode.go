package pubsub

import (
	"fmt"
	"unicode/utf8"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/encoding/protowire"

	"outboxrelay/contracts"
)

// encode makes the request that publishes messages to topic, a full name. It
// fails on an attribute that is not UTF-8, which protobuf would refuse.
//
// Attributes are put on the wire here, as protobuf walks a map by reflection,
// twice, with four allocations for each entry. What a message holds in its
// unknown fields it copies as it is. So the messages' own Attributes are empty
// until somebody has decoded them.
func encode(topic string, messages []*contracts.Message) (*pubsubpb.PublishRequest, error) {
	size := 0
	for _, m := range messages {
		for name, value := range m.Attributes {
			n := attributeSize(name, value)
			size += protowire.SizeTag(fieldAttributes) + protowire.SizeBytes(n)
		}
	}
	// One piece of memory for all messages, and one for all attributes.
	all := make([]pubsubpb.PubsubMessage, len(messages))
	refs := make([]*pubsubpb.PubsubMessage, len(messages))
	wire := make([]byte, 0, size)
	for i, m := range messages {
		start := len(wire)
		for name, value := range m.Attributes {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				return nil, &contracts.Failure{
					Kind: contracts.Permanent, Code: codeInvalidText,
					Err: fmt.Errorf("publish message: attribute %q is not UTF-8", name),
				}
			}
			wire = appendAttribute(wire, name, value)
		}
		all[i].Data, all[i].OrderingKey = m.Data, m.OrderingKey
		all[i].ProtoReflect().SetUnknown(wire[start:len(wire):len(wire)])
		refs[i] = &all[i]
	}
	return &pubsubpb.PublishRequest{Topic: topic, Messages: refs}, nil
}

// Numbers of fields: PubsubMessage's attributes, and what an entry of a map has.
const (
	fieldAttributes protowire.Number = 2
	fieldKey        protowire.Number = 1
	fieldValue      protowire.Number = 2
)

// attributeSize is what an attribute takes within its own length.
func attributeSize(name, value string) int {
	return protowire.SizeTag(fieldKey) + protowire.SizeBytes(len(name)) + protowire.SizeTag(fieldValue) + protowire.SizeBytes(len(value))
}

func appendAttribute(wire []byte, name, value string) []byte {
	wire = protowire.AppendTag(wire, fieldAttributes, protowire.BytesType)
	wire = protowire.AppendVarint(wire, uint64(attributeSize(name, value)))
	wire = protowire.AppendTag(wire, fieldKey, protowire.BytesType)
	wire = protowire.AppendString(wire, name)
	wire = protowire.AppendTag(wire, fieldValue, protowire.BytesType)
	return protowire.AppendString(wire, value)
}
