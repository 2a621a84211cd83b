package main

import (
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestLedgerJudges(t *testing.T) {
	type told struct{ topic, id, key string }
	for name, c := range map[string]struct {
		messages []told
		want     [2]int // out of order, twice
	}{
		"in order":                {[]told{{"t", "8", "a1"}, {"t", "9", "a2"}, {"t", "10", "a3"}}, [2]int{0, 0}},
		"received out of order":   {[]told{{"t", "10", "a3"}, {"t", "9", "a2"}, {"t", "8", "a1"}}, [2]int{0, 0}},
		"published out of order":  {[]told{{"t", "8", "a3"}, {"t", "9", "a1"}, {"t", "10", "a2"}}, [2]int{2, 0}},
		"twice":                   {[]told{{"t", "1", "a1"}, {"t", "2", "a2"}, {"t", "3", "a1"}}, [2]int{0, 1}},
		"redelivered":             {[]told{{"t", "1", "a1"}, {"t", "1", "a1"}}, [2]int{0, 0}},
		"topics apart":            {[]told{{"t", "1", "a2"}, {"u", "2", "a1"}, {"u", "3", "a2"}}, [2]int{0, 0}},
		"aggregates apart":        {[]told{{"t", "1", "a2"}, {"t", "2", "b1"}}, [2]int{0, 0}},
		"lanes apart":             {[]told{{"t", "1", "a4"}, {"t", "2", "a1"}}, [2]int{0, 0}},
		"a message of nobody's":   {[]told{{"t", "1", "warmup"}, {"t", "2", "warmup"}}, [2]int{0, 0}},
		"a gap is not a disorder": {[]told{{"t", "1", "a1"}, {"t", "2", "a3"}}, [2]int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			for i, key := range []string{"a1", "a2", "a3"} {
				l.appended(&contracts.Record{IdempotencyKey: key, AggregateID: "a", AggregateVersion: int64(i + 1), Lane: contracts.StandardLane})
			}
			l.appended(&contracts.Record{IdempotencyKey: "a4", AggregateID: "a", AggregateVersion: 4, Lane: contracts.CriticalLane})
			l.appended(&contracts.Record{IdempotencyKey: "b1", AggregateID: "b", AggregateVersion: 1, Lane: contracts.StandardLane})
			for _, m := range c.messages {
				l.received(m.topic, &pubsubpb.PubsubMessage{MessageId: m.id, Attributes: map[string]string{contracts.AttrIdempotencyKey: m.key}})
			}
			breaks, duplicates := l.judge()
			if diff := cmp.Diff(c.want, [2]int{breaks, duplicates}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
