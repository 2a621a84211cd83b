package main

import (
	"sync"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/relay/postgres"
)

// arrivals are the messages of the subscription. Safe for concurrent use.
type arrivals struct {
	mu       sync.Mutex
	messages map[string]bool     // IDs of messages: one that Pub/Sub hands out again is no duplicate of the publisher's
	events   map[string]int      // messages of each event
	first    map[string][]string // by aggregate: events in the order of their first messages
}

func newArrivals() *arrivals {
	return &arrivals{messages: map[string]bool{}, events: map[string]int{}, first: map[string][]string{}}
}

// take notes messages.
func (a *arrivals) take(messages []*pb.ReceivedMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messages {
		if a.messages[m.Message.MessageId] {
			continue
		}
		a.messages[m.Message.MessageId] = true
		id, aggregate := m.Message.Attributes[postgres.AttrEventID], m.Message.Attributes[postgres.AttrAggregateID]
		if a.events[id]++; a.events[id] == 1 {
			a.first[aggregate] = append(a.first[aggregate], id)
		}
	}
}

// count is how many events have arrived.
func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.events)
}
