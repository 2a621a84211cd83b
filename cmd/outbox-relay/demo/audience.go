package demo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/contracts"
)

// ConsumerTotals is what one consumer that the catalog names has done.
type ConsumerTotals struct {
	Name    string
	Acted   int64 // events that it acted on, each once
	Repeats int64 // that it acknowledged without acting again
	Others  int64 // events of its topics that do not name it
}

// attention is a consumer's subscription to a topic.
type attention struct{ consumer, topic string }

// audience lists the subscriptions of the consumers that the catalog names, each
// to the topics that its events come by.
func audience(c *contracts.Catalog) []attention {
	all := make(map[attention]bool)
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			if topic := topicOf(c, e); topic != "" {
				for _, consumer := range e.Consumers {
					all[attention{consumer, topic}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b attention) int { return strings.Compare(a.consumer+" "+a.topic, b.consumer+" "+b.topic) })
}

// topicOf is the topic by which an event's consumers get it, where several would:
// the first. "" when it goes to handlers alone.
func topicOf(c *contracts.Catalog, e *contracts.EventRoute) string {
	for _, t := range e.Targets {
		if topic := c.Targets[t].Topic; topic != "" {
			return topic
		}
	}
	return ""
}

// destinations are all that a record on a route is to reach: targets, and
// consumers behind them.
func destinations(c *contracts.Catalog, e *contracts.EventRoute) []string {
	all := slices.Clone(e.Targets)
	if topicOf(c, e) != "" {
		for _, consumer := range e.Consumers {
			all = append(all, destination(consumer))
		}
	}
	return all
}

// destination names a consumer among targets.
func destination(consumer string) string { return "consumer " + consumer }

// subscription is the name of the consumer's own.
func (a attention) subscription() string { return "consumer-" + a.consumer + "-" + a.topic }

// attend lets a consumer act on a message whose event names it.
func (c *Consumers) attend(a attention, m *pb.PubsubMessage) {
	var route *contracts.EventRoute
	if o := c.Catalog.Outbox(m.Attributes[contracts.AttrOutbox]); o != nil {
		version, _ := strconv.ParseInt(m.Attributes[contracts.AttrEventVersion], 10, 64) // 0, which no event has
		route = o.RouteOf(m.Attributes[contracts.AttrEventType], version)
	}
	named := route != nil && topicOf(c.Catalog, route) == a.topic && slices.Contains(route.Consumers, a.consumer)
	c.Ledger.Attend(a.consumer, m.Attributes[contracts.AttrIdempotencyKey], named)
}

// Attend books what a consumer did with a message: it acts on the first of each
// event that names it.
func (l *Ledger) Attend(consumer, key string, named bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	book := l.consumers[consumer]
	if book == nil {
		book = &ConsumerTotals{Name: consumer}
		l.consumers[consumer] = book
	}
	if !named {
		book.Others++
		return
	}
	once := delivery{destination(consumer), key}
	if _, ok := l.seen.get(once); ok {
		book.Repeats++
		return
	}
	l.seen.set(once, struct{}{})
	book.Acted++
	l.reach(key, once.target)
}

// audienceLine tells of the consumers on one line; "" without any.
func audienceLine(consumers []ConsumerTotals) string {
	var parts []string
	var repeats int64
	for _, c := range consumers {
		parts = append(parts, fmt.Sprintf("%s %d", c.Name, c.Acted))
		repeats += c.Repeats
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("consumers  %s; %d repeats", strings.Join(parts, ", "), repeats)
}
