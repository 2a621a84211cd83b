package pubsub

import (
	gpubsub "cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
)

// Bounds of a request.
const (
	// maxMessageBytes is the most that a message may take: Pub/Sub's 10 MB for a
	// request, less room for the topic's name.
	maxMessageBytes int = gpubsub.MaxPublishRequestBytes - 1024
	// maxRequestBytes is the most that several messages take together. It is what
	// Pub/Sub takes of one ordering key in a second; a larger request would only
	// stand in memory longer, and be nearer to its timeout.
	maxRequestBytes int = 1_000_000
)

// requestOf is how many of messages, of which there is at least one, the next
// request takes, and about how many bytes. A message of more than most bytes is
// alone in its own.
func requestOf(messages []*contracts.Message, most int) (n, bytes int) {
	for ; n < len(messages); n++ {
		size := sizeOf(messages[n])
		if n > 0 && bytes+size > most {
			break
		}
		bytes += size
	}
	return n, bytes
}

// sizeOf is a little more than msg takes in a request.
func sizeOf(msg *contracts.Message) int {
	const perField = 16
	size := len(msg.Data) + len(msg.OrderingKey) + 2*perField
	for name, value := range msg.Attributes {
		size += len(name) + len(value) + perField
	}
	return size
}
