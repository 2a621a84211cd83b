package pubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// publisher publishes to one topic in one lane.
//
// The client keeps the order of a key only as long as nobody resumes the key
// while a message of it is still queued, and never tells who paused it. So a
// key belongs to one call at a time: it publishes, waits for every answer, and
// resumes the key if one was a failure.
type publisher struct {
	client    *gpubsub.Publisher
	keys      *keyLocks
	timeout   time.Duration
	split     prometheus.Counter
	undrained prometheus.Counter
	log       *zap.Logger

	put   func(context.Context, *gpubsub.Message) *gpubsub.PublishResult // the client's Publish
	first sync.Once                                                      // of put, see publish
	late  sync.WaitGroup                                                 // answers that outlive their call
}

func newPublisher(client *gpubsub.Client, topic string, lane contracts.Lane, s Settings) *publisher {
	p := &publisher{
		client:    client.Publisher(topic),
		keys:      newKeyLocks(),
		timeout:   s.Timeout,
		split:     s.Metrics.split.WithLabelValues(topic),
		undrained: s.Metrics.undrained.WithLabelValues(topic),
		log:       s.Log.With(zap.String("topic", topic), zap.String("lane", string(lane))),
	}
	p.put = p.client.Publish
	p.client.EnableMessageOrdering = true
	p.client.PublishSettings = s.publish(lane)
	return p
}

// deliver publishes messages of one key in order and returns an error for each.
//
// A request is refused as a whole. When it held several messages and the reason
// is not an outage, one of them is to blame and the others are not: the request
// is repeated in halves until the one is alone. A message that was acknowledged
// is not published again.
func (p *publisher) deliver(ctx context.Context, messages []*contracts.Message) []error {
	errs := make([]error, len(messages))
	release, err := p.hold(ctx, messages[0].OrderingKey)
	if err != nil {
		failFrom(errs, allIndexes(len(messages)), classify(fmt.Errorf("wait for ordering key: %w", err)))
		return errs
	}
	defer func() { release() }()

	pending := allIndexes(len(messages)) // not acknowledged yet, oldest first
	width := len(pending)                // messages to try together
	for len(pending) > 0 {
		batch := pending[:min(width, len(pending))]
		answers, drained := p.send(ctx, pick(messages, batch), &release)
		failure := firstFailure(answers)
		if !drained { // what is still out may be acknowledged yet, so nobody is to blame
			failure = p.undrainedFailure()
		}
		acked := map[int]bool{}
		for i, answer := range answers {
			if answer == nil {
				acked[batch[i]] = true
			}
		}
		left := len(batch) - len(acked)
		pending = slices.DeleteFunc(pending, func(i int) bool { return acked[i] })
		if failure == nil {
			continue
		}
		if len(batch) == 1 || failure.Kind == contracts.Outage {
			failFrom(errs, pending, failure)
			return errs
		}
		p.split.Inc()
		width = max(1, left/2)
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

// send publishes a batch and waits for the answers, nil for acknowledged. When
// it reports false some answers are still out: the key then stays with a
// goroutine that waits for them, and release has become a no-op.
func (p *publisher) send(ctx context.Context, batch []*contracts.Message, release *func()) (answers []error, drained bool) {
	key := batch[0].OrderingKey
	answers = make([]error, len(batch))
	room, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	results := make([]*gpubsub.PublishResult, 0, len(batch))
	for i, m := range batch {
		if err := checkSize(m); err != nil {
			for j := range answers[i:] {
				answers[i+j] = ier.ErrBehind
			}
			answers[i] = err
			break
		}
		results = append(results, p.publish(room, &gpubsub.Message{
			Data: m.Data, Attributes: m.Attributes, OrderingKey: key,
		}))
	}
	n := p.await(ctx, results)
	paused := false
	for i, r := range results[:n] {
		if _, err := r.Get(context.Background()); err != nil {
			answers[i], paused = err, true
		}
	}
	if n < len(results) {
		for i := n; i < len(results); i++ {
			answers[i] = ier.ErrBehind
		}
		p.finishLate(key, results[n:], paused, *release)
		*release = func() {}
		return answers, false
	}
	if paused {
		p.client.ResumePublish(key)
	}
	return answers, true
}

// publish queues a message as soon as there is room. The client makes its queues
// on its first publish, under a lock whose other side every call holds while it
// waits for room. If the first calls were concurrent, one that came too late to
// make them would lock all others out until somebody got room. So the first
// goes alone: nothing is under way yet, and it does not wait.
func (p *publisher) publish(room context.Context, m *gpubsub.Message) (result *gpubsub.PublishResult) {
	p.first.Do(func() { result = p.put(room, m) })
	if result == nil {
		result = p.put(room, m)
	}
	return result
}

// await waits for the results in order and returns how many are there. All are,
// unless ctx ended and p.timeout has passed since.
func (p *publisher) await(ctx context.Context, results []*gpubsub.PublishResult) int {
	ended := ctx.Done()
	var tooLate <-chan time.Time
	for i := 0; i < len(results); {
		select {
		case <-results[i].Ready():
			i++
		case <-ended:
			ended = nil
			tooLate = time.After(p.timeout)
		case <-tooLate:
			return i
		}
	}
	return len(results)
}

func (p *publisher) undrainedFailure() *contracts.Failure {
	return &contracts.Failure{
		Kind: contracts.Outage, Code: codeUndrained,
		Err: fmt.Errorf("publish message: no answer within %v after the stop", p.timeout),
	}
}

// finishLate keeps the key until the last answer is there. Each request ends
// by itself within p.timeout, and all of them with the client.
func (p *publisher) finishLate(key string, results []*gpubsub.PublishResult, paused bool, release func()) {
	p.undrained.Inc()
	p.log.Warn("answers are still out after the stop", zap.Int("messages", len(results)))
	p.late.Go(func() {
		defer release()
		for _, r := range results {
			if _, err := r.Get(context.Background()); err != nil {
				paused = true
			}
		}
		if paused {
			p.client.ResumePublish(key)
		}
	})
}

// stop sends what is queued and returns when every answer is there.
func (p *publisher) stop() {
	p.client.Stop()
	p.late.Wait()
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

// firstFailure is the failure that held the others up: the first answer that is
// not a mere consequence. The client's pause is one, and it strikes messages in
// front of the failed one too, when they were still queued.
func firstFailure(answers []error) *contracts.Failure {
	var consequence error
	for _, err := range answers {
		if err == nil || errors.Is(err, ier.ErrBehind) {
			continue
		}
		if _, ok := errors.AsType[gpubsub.ErrPublishingPaused](err); ok {
			consequence = err
			continue
		}
		return classify(err)
	}
	if consequence != nil {
		return &contracts.Failure{Kind: contracts.Outage, Code: codePaused, Err: consequence}
	}
	return nil
}

// failFrom gives the oldest pending message the failure and leaves the others
// behind it.
func failFrom(errs []error, pending []int, failure *contracts.Failure) {
	for _, i := range pending {
		errs[i] = ier.ErrBehind
	}
	errs[pending[0]] = failure
}

func allIndexes(n int) []int {
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = i
	}
	return indexes
}

func pick(messages []*contracts.Message, indexes []int) []*contracts.Message {
	picked := make([]*contracts.Message, len(indexes))
	for i, j := range indexes {
		picked[i] = messages[j]
	}
	return picked
}
