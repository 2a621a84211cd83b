package pubsub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// DefaultRetain is how many messages pile up before the acknowledged ones are
// cleared: some 50 MB of small records.
const DefaultRetain = 20_000

const (
	// holdPublishes is how long publishes wait at most for subscribers to
	// acknowledge what is out. A subscriber that keeps up needs a fraction.
	holdPublishes = 250 * time.Millisecond
	// checkAgain is the pause between two looks during that time.
	checkAgain = 5 * time.Millisecond
	// afterGivingUp is the first pause after a look that found messages still
	// out, in looks; it doubles to the second as long as they are. So a
	// subscription that nobody reads does not hold up publishes every second.
	afterGivingUp, afterGivingUpMax = 10, 320
	// forgotten is the age at which no subscription holds a message any more:
	// the fake drops an idle one after 10 minutes, and a lease lasts another 10.
	forgotten = 20 * time.Minute
)

// retention clears the fake, which keeps every message for good and can only
// forget all of them at once, those not yet delivered included. So it clears
// only at a moment when every message has been acknowledged by every
// subscription that got it, with publishes held back for the time of the look.
type retention struct {
	fake   *pstest.Server
	log    *zap.Logger
	now    func() time.Time
	retain int
	every  time.Duration

	// publishing is held for reading by a publish, and for writing by what
	// must not run beside one.
	publishing sync.RWMutex

	mu          sync.Mutex
	want        map[string]int // acknowledgements that a retained message is to get, by its ID
	subscribers map[string]int // subscriptions of a topic, by its full name
	topicOf     map[string]string

	skip, pause int          // looks to skip still, and after the next failure; run's alone
	gaveUp      atomic.Int64 // looks that found messages still out
}

func newRetention(fake *pstest.Server, opts Options) *retention {
	if opts.Retain == 0 {
		opts.Retain = DefaultRetain
	}
	if opts.ClearEvery == 0 {
		opts.ClearEvery = time.Second
	}
	return &retention{
		fake: fake, log: opts.Log, now: opts.Now, retain: opts.Retain, every: opts.ClearEvery, pause: afterGivingUp,
		want: map[string]int{}, subscribers: map[string]int{}, topicOf: map[string]string{},
	}
}

// intercept notes what each message waits for.
func (r *retention) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	switch req := req.(type) {
	case *pb.PublishRequest:
		r.publishing.RLock()
		defer r.publishing.RUnlock()
		resp, err := next(ctx, req)
		if err == nil {
			r.published(req.Topic, resp.(*pb.PublishResponse).MessageIds)
		}
		return resp, err
	case *pb.Subscription:
		return r.alone(ctx, req, next, func() { r.subscribed(req.Name, req.Topic) })
	case *pb.DeleteSubscriptionRequest:
		return r.alone(ctx, req, next, func() { r.unsubscribed(req.Subscription) })
	case *pb.DetachSubscriptionRequest:
		return r.alone(ctx, req, next, func() { r.unsubscribed(req.Subscription) })
	case *pb.DeleteTopicRequest:
		return r.alone(ctx, req, next, func() { r.deleted(req.Topic) })
	}
	return next(ctx, req)
}

// alone runs a call with no publish beside it, and note after it if it succeeds.
func (r *retention) alone(ctx context.Context, req any, next grpc.UnaryHandler, note func()) (any, error) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	resp, err := next(ctx, req)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		note()
	}
	return resp, err
}

func (r *retention) published(topic string, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.want[id] = r.subscribers[topic]
	}
}

func (r *retention) subscribed(subscription, topic string) {
	r.topicOf[subscription] = topic
	r.subscribers[topic]++
}

// unsubscribed leaves what messages before it wait for as it is: which of their
// acknowledgements were this subscription's is not known, so they wait until
// they are forgotten.
func (r *retention) unsubscribed(subscription string) {
	if topic, ok := r.topicOf[subscription]; ok {
		r.subscribers[topic]--
		delete(r.topicOf, subscription)
	}
}

func (r *retention) deleted(topic string) {
	delete(r.subscribers, topic)
	for subscription, of := range r.topicOf {
		if of == topic {
			delete(r.topicOf, subscription)
		}
	}
}

func (r *retention) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.want)
}

// run clears until ctx ends.
func (r *retention) run(ctx context.Context) {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.size() < r.retain {
			continue
		}
		if r.clear(ctx) {
			r.pause = afterGivingUp
			continue
		}
		r.gaveUp.Add(1)
		r.skip, r.pause = r.pause, min(2*r.pause, afterGivingUpMax)
	}
}

// clear forgets everything if all of it is acknowledged within holdPublishes,
// and reports whether it was.
func (r *retention) clear(ctx context.Context) bool {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	for began := time.Now(); !r.settled(); {
		if time.Since(began) > holdPublishes {
			r.log.Warn("pub/sub messages pile up: a subscription does not acknowledge them", zap.Int("messages", r.size()))
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(checkAgain):
		}
	}
	r.fake.ClearMessages()
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.want)
	return true
}

// settled reports whether no subscription waits for a retained message. No
// publish may be under way.
func (r *retention) settled() bool {
	messages := r.fake.Messages()
	horizon := r.now().Add(-forgotten)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		if m.Acks < r.want[m.ID] && m.PublishTime.After(horizon) {
			return false
		}
	}
	return true
}
