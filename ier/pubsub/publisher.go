package pubsub

import (
	"context"
	"fmt"
	"sync"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// publisher publishes to one topic in one lane, by requests of its own: a run
// of one key is a batch already, and no other's message may join it, so the
// client's bundling would cost memory and goroutines and gain nothing.
//
// A key belongs to one call at a time, which has one request of it out at a
// time: so its messages arrive in order.
type publisher struct {
	client      *vkit.TopicAdminClient
	topic       string // full name
	keys        *keyLocks
	room        *room
	maxMessages int // in one request
	maxBytes    int // of several messages in one request
	timeout     time.Duration
	split       prometheus.Counter

	mu       sync.RWMutex // guards stopped against new requests
	stopped  bool
	underWay sync.WaitGroup // requests
}

func newPublisher(client *gpubsub.Client, topic string, s Settings) *publisher {
	return &publisher{
		client:      client.TopicAdminClient,
		topic:       topicName(client, topic),
		keys:        newKeyLocks(),
		room:        newRoom(s.MaxOutstanding, s.MaxOutstandingBytes, s.Timeout),
		maxMessages: min(s.MaxMessages, s.MaxOutstanding),
		maxBytes:    min(maxRequestBytes, s.MaxOutstandingBytes),
		timeout:     s.Timeout,
		split:       s.Metrics.split.WithLabelValues(topic),
	}
}

// deliver publishes messages of one key in order and returns an error for each.
// A request that was begun goes on when ctx ends, and none is begun after that.
//
// A request is refused as a whole. When it held several messages and the reason
// is not an outage, one of them is to blame and the others are not: the request
// is repeated in halves until the one is alone. A message that was acknowledged
// is not published again.
func (p *publisher) deliver(ctx context.Context, messages []*contracts.Message) []error {
	errs := make([]error, len(messages))
	release, err := p.hold(ctx, messages[0].OrderingKey)
	if err != nil {
		failFrom(errs, classify(fmt.Errorf("wait for ordering key: %w", err)))
		return errs
	}
	defer release()

	width := p.maxMessages // messages to try together
	for acked := 0; acked < len(messages); {
		pending := messages[acked:] // oldest first
		n, bytes := requestOf(pending[:min(width, len(pending))], p.maxBytes)
		err := p.send(ctx, context.WithoutCancel(ctx), pending[:n], bytes)
		if err == nil {
			acked += n
			continue
		}
		failure := classify(err)
		if n == 1 || failure.Kind == contracts.Outage {
			failFrom(errs[acked:], failure)
			return errs
		}
		p.split.Inc()
		width = n / 2
	}
	return errs
}

// hold takes the key for this call. Messages without a key have no order, and
// need not wait for each other.
func (p *publisher) hold(ctx context.Context, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	return p.keys.acquire(ctx, key)
}

// send publishes messages of about that many bytes in one request and waits for
// the answer, which is one for all. ctx bounds the wait for room and call the
// request, both beside the timeout.
func (p *publisher) send(ctx, call context.Context, messages []*contracts.Message, bytes int) error {
	if bytes > maxMessageBytes {
		return tooLargeFailure(bytes)
	}
	if err := p.room.take(ctx, len(messages), bytes); err != nil {
		return fmt.Errorf("wait for room: %w", err)
	}
	defer p.room.leave(len(messages), bytes)
	if !p.begin() {
		return stoppedFailure()
	}
	defer p.underWay.Done()
	call, cancel := context.WithTimeout(call, p.timeout)
	defer cancel()
	return publish(call, p.client, p.topic, messages)
}

// begin counts a request as under way, unless the publisher is stopped.
func (p *publisher) begin() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.stopped {
		return false
	}
	p.underWay.Add(1)
	return true
}

// stop lets no request begin any more and returns when every answer is there.
func (p *publisher) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.underWay.Wait()
}

// stopWithin waits for stop, at most until ctx ends, and returns why it did not.
func stopWithin(ctx context.Context, stop func()) error {
	stopped := make(chan struct{})
	go func() { // ends when every request has, so within Settings.Timeout or with its client
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failFrom gives the oldest message the failure and leaves the others behind it.
func failFrom(errs []error, failure *contracts.Failure) {
	for i := range errs {
		errs[i] = ier.ErrBehind
	}
	errs[0] = failure
}
