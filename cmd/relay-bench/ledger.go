package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/contracts"
)

// ledger knows the records of a backlog and every message that came of them.
type ledger struct {
	records map[string]*contracts.Record // by idempotency key; not written to once messages come

	mu       sync.Mutex
	messages map[message]struct{} // a redelivery is no message of its own
}

type message struct{ topic, id, key string }

func newLedger() *ledger {
	return &ledger{records: map[string]*contracts.Record{}, messages: map[message]struct{}{}}
}

func (l *ledger) appended(rec *contracts.Record) { l.records[rec.IdempotencyKey] = rec }

func (l *ledger) received(topic string, m *pubsubpb.PubsubMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages[message{topic, m.MessageId, m.Attributes[contracts.AttrIdempotencyKey]}] = struct{}{}
}

// judge counts the messages that follow one of a later version of their
// aggregate, in a lane and on a topic, and those of a record that the topic had
// before.
func (l *ledger) judge() (breaks, duplicates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type place struct {
		topic, aggregate string
		lane             contracts.Lane
	}
	type copied struct{ topic, key string }
	seen, latest := map[copied]bool{}, map[place]int64{}
	for _, m := range l.published() {
		rec := l.records[m.key]
		if rec == nil {
			continue
		}
		if seen[copied{m.topic, m.key}] {
			duplicates++
			continue
		}
		seen[copied{m.topic, m.key}] = true
		at := place{m.topic, rec.AggregateID, rec.Lane}
		if rec.AggregateVersion < latest[at] {
			breaks++
		}
		latest[at] = max(latest[at], rec.AggregateVersion)
	}
	return breaks, duplicates
}

// published are the messages of each topic as they were published: both clouds
// count IDs up, and several messages share a time.
func (l *ledger) published() []message {
	out := make([]message, 0, len(l.messages))
	for m := range l.messages {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b message) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(len(a.id), len(b.id)), strings.Compare(a.id, b.id))
	})
	return out
}
