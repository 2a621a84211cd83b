package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	local "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
)

// arrival is one message of a record at a consumer.
type arrival struct {
	topic, id string // the broker counts IDs up
	at        time.Time
	outbox    string
	target    string
	key       string
	eventID   string
	traceID   string
	aggregate string
	lane      contracts.Lane
	version   int64
	replay    string // ID of the dead letter; "" for a first delivery
	hasData   bool
}

// consumers read every topic of a target, past all proxies. Safe for concurrent
// use.
type consumers struct {
	client *pubsub.Client
	topics []string

	mu       sync.Mutex
	seen     map[string]bool // by topic and ID: the broker may hand out a message twice
	arrivals []arrival
}

const subscriptionPrefix = "chaos-"

// subscribe comes before the first append.
func subscribe(ctx context.Context, client *pubsub.Client, topics []string) (*consumers, error) {
	c := &consumers{client: client, seen: map[string]bool{}}
	for _, topic := range topics {
		if topic == contracts.TopicMetrics || topic == contracts.TopicErrors || topic == contracts.TopicRefreshSignal {
			continue
		}
		if err := local.Subscribe(ctx, client, topic, subscriptionPrefix+topic); err != nil {
			return nil, err
		}
		c.topics = append(c.topics, topic)
	}
	return c, nil
}

// receiveAgain is the pause after a subscription failed.
const receiveAgain = 100 * time.Millisecond

// run reads until ctx ends.
func (c *consumers) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, topic := range c.topics {
		g.Go(func() error {
			for {
				// The emulators cancel a call now and then. What was not
				// acknowledged comes again.
				_ = local.Receive(ctx, c.client, subscriptionPrefix+topic, func(ms []*pb.ReceivedMessage) { c.arrived(topic, ms) })
				if !rig.Sleep(ctx, receiveAgain) {
					return nil
				}
			}
		})
	}
	return g.Wait()
}

func (c *consumers) arrived(topic string, messages []*pb.ReceivedMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, received := range messages {
		m := received.Message
		if c.seen[topic+" "+m.MessageId] {
			continue
		}
		c.seen[topic+" "+m.MessageId] = true
		a := m.Attributes
		version, err := strconv.ParseInt(a[contracts.AttrAggregateVersion], 10, 64)
		if err != nil {
			version = -1 // which no record has: the judge will say so
		}
		c.arrivals = append(c.arrivals, arrival{
			topic: topic, id: m.MessageId, at: m.PublishTime.AsTime(), outbox: a[contracts.AttrOutbox], target: a[contracts.AttrTarget],
			key: a[contracts.AttrIdempotencyKey], eventID: a[contracts.AttrEventID], traceID: a[contracts.AttrTraceID],
			aggregate: a[contracts.AttrAggregateID], lane: contracts.Lane(a[contracts.AttrLane]), version: version,
			replay: a[contracts.AttrReplay], hasData: len(m.Data) > 0,
		})
	}
}

// inOrder lists all arrivals, those of a topic in the order in which they were
// published.
func (c *consumers) inOrder() []arrival {
	c.mu.Lock()
	out := slices.Clone(c.arrivals)
	c.mu.Unlock()
	slices.SortFunc(out, func(a, b arrival) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(len(a.id), len(b.id)), strings.Compare(a.id, b.id))
	})
	return out
}
