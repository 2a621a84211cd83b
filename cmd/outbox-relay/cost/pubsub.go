package cost

const (
	// leastOfRequest is the volume that Pub/Sub bills for a request at least.
	leastOfRequest = 1000
	// bytesOfSample is a lag sample as a line of JSON, on topic domain-metrics: one
	// for each attempt at each target. Measured over samples of all event types.
	bytesOfSample = 330
	// samplesOfMessage and sampleLinger are when such a message is sent.
	samplesOfMessage = 500
	sampleLinger     = 1 // second
	// bytesOfSignal is a message of topic token-refresh-signal: published minimum.
	bytesOfSignal = leastOfRequest
)

// PubSub is the volume of messages, in bytes a second.
type PubSub struct {
	Published float64 // to the targets' topics, and token refresh signals
	Delivered float64 // to their subscriptions
	Samples   float64 // lag samples, published and delivered
}

// pubSubOf is what so many messages and attempts a second come to, with a number
// of subscriptions for each topic.
func pubSubOf(messages, bytes, attempts, signals, instances, subscriptions float64) PubSub {
	if bytes < leastOfRequest { // a request of one message, where the lane waits for no company
		bytes = leastOfRequest
	}
	published := messages*bytes + signals*bytesOfSignal
	samples := attempts * bytesOfSample
	if requests := min(attempts, instances/sampleLinger); requests > 0 {
		samples = max(samples, requests*leastOfRequest)
	}
	return PubSub{Published: published, Delivered: published * subscriptions, Samples: samples * (1 + subscriptions)}
}
