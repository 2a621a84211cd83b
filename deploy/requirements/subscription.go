package requirements

import (
	"encoding/json"
	"fmt"
	"time"
)

// Subscription is what a consumer's subscription to a topic needs. A topic has
// one for each consumer; one at least, as it keeps nothing for those to come.
type Subscription struct {
	Name        string        // advice
	Ordered     bool          // fixed when it is made; without it the order of an aggregate is lost
	AckDeadline time.Duration // how soon the messages of a consumer that died are delivered again
	RetainFor   time.Duration // messages that are not acknowledged by then are lost
	MinBackoff  time.Duration
	MaxBackoff  time.Duration

	// DeadLetterTopic gets what a consumer refused MaxDeliveryAttempts times. It
	// needs a subscription, as it loses what it gets without one, and Pub/Sub's
	// service agent needs roles/pubsub.publisher on it and roles/pubsub.subscriber
	// on this subscription.
	DeadLetterTopic        string // "": none
	DeadLetterSubscription string // advice; "": none
	MaxDeliveryAttempts    int    // 5 to 100; 0: there is no DeadLetterTopic

	ExactlyOnce bool
}

const (
	// ackDeadline is long enough for a batch of a consumer that does not extend
	// its leases. Google's clients do.
	ackDeadline = 60 * time.Second
	// retainFor outlasts a long weekend without a consumer.
	retainFor = 7 * 24 * time.Hour
	// deadLettersFor is the most that Pub/Sub keeps: nobody reads dead letters by
	// the hour.
	deadLettersFor = 31 * 24 * time.Hour
	// minBackoff and maxBackoff are between two deliveries of a message that was
	// refused. Behind it wait the other messages of its aggregate.
	minBackoff = time.Second
	maxBackoff = 600 * time.Second
	// maxDeliveries lets a consumer fail for an hour and a half before its
	// messages go to the dead-letter topic: 1, 2, 4 ... 512 s, then 600 s each.
	maxDeliveries = 20
)

// records is for topics whose messages carry an ordering key. Consumers drop
// repeats by idempotencyKey, which also covers those of the relay: exactly-once
// delivery does not, and costs latency.
func records(topic string) Subscription {
	s := alerts(topic)
	s.Ordered = true
	return s
}

// alerts is for topics whose messages stand alone.
func alerts(topic string) Subscription {
	s := samples(topic)
	s.DeadLetterTopic, s.DeadLetterSubscription, s.MaxDeliveryAttempts = topic+"-dead-letters", topic+"-dead-letters-reader", maxDeliveries
	return s
}

// samples is for topics of which a message may be lost.
func samples(topic string) Subscription {
	return Subscription{Name: topic + "-consumer", AckDeadline: ackDeadline, RetainFor: retainFor, MinBackoff: minBackoff, MaxBackoff: maxBackoff}
}

// DeadLetterReader is the subscription that keeps what comes to the dead-letter
// topic until somebody has looked at it.
func (s Subscription) DeadLetterReader() Subscription {
	return Subscription{Name: s.DeadLetterSubscription, Ordered: s.Ordered, AckDeadline: s.AckDeadline, RetainFor: deadLettersFor}
}

// MarshalJSON writes durations as Google's APIs take them: "600s".
func (s Subscription) MarshalJSON() ([]byte, error) {
	type reader struct {
		Name        string  `json:"name"`
		Ordered     bool    `json:"ordered"`
		AckDeadline seconds `json:"ackDeadline"`
		RetainFor   seconds `json:"retainFor"`
	}
	out := struct {
		reader
		MinBackoff          seconds `json:"minBackoff"`
		MaxBackoff          seconds `json:"maxBackoff"`
		DeadLetterTopic     string  `json:"deadLetterTopic"`
		DeadLetterReader    *reader `json:"deadLetterReader"`
		MaxDeliveryAttempts int     `json:"maxDeliveryAttempts"`
		ExactlyOnce         bool    `json:"exactlyOnce"`
	}{
		reader:     reader{s.Name, s.Ordered, seconds(s.AckDeadline), seconds(s.RetainFor)},
		MinBackoff: seconds(s.MinBackoff), MaxBackoff: seconds(s.MaxBackoff), DeadLetterTopic: s.DeadLetterTopic,
		MaxDeliveryAttempts: s.MaxDeliveryAttempts, ExactlyOnce: s.ExactlyOnce,
	}
	if s.DeadLetterTopic != "" {
		r := s.DeadLetterReader()
		out.DeadLetterReader = &reader{r.Name, r.Ordered, seconds(r.AckDeadline), seconds(r.RetainFor)}
	}
	return json.Marshal(out)
}

// seconds is a duration as Google's APIs and commands take it.
type seconds time.Duration

func (s seconds) String() string { return fmt.Sprintf("%ds", time.Duration(s)/time.Second) }

// MarshalText implements encoding.TextMarshaler.
func (s seconds) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
