package postgres

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	outbox "outboxrelay/relay/postgres"
)

// fact is the data of an event of the bench.
type fact struct {
	Number    int `json:"number"`    // from 0, in the order of the commits
	Aggregate int `json:"aggregate"` // from 0
}

// arrival is a message.
type arrival struct {
	fact
	id string // Pub/Sub's, which counts up in the order of the publishes
	at time.Time
}

// arrivals are the messages of the subscription. Safe for concurrent use.
type arrivals struct {
	mu      sync.Mutex
	ids     map[string]bool
	numbers map[int]bool
	all     []arrival
	faults  []error
}

func newArrivals() *arrivals { return &arrivals{ids: map[string]bool{}, numbers: map[int]bool{}} }

// take notes messages. One that Pub/Sub hands out again is none.
func (a *arrivals) take(messages []*pb.ReceivedMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messages {
		if a.ids[m.Message.MessageId] {
			continue
		}
		a.ids[m.Message.MessageId] = true
		var envelope outbox.OutboxPayloadEnvelope
		got := arrival{id: m.Message.MessageId, at: m.Message.PublishTime.AsTime()}
		err := json.Unmarshal(m.Message.Data, &envelope)
		if err == nil {
			err = json.Unmarshal(envelope.Data, &got.fact)
		}
		if err != nil {
			a.faults = append(a.faults, err)
			continue
		}
		a.numbers[got.Number] = true
		a.all = append(a.all, got)
	}
}

// count is how many events have arrived, and the first message that is none.
func (a *arrivals) count() (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.faults) > 0 {
		return len(a.numbers), a.faults[0]
	}
	return len(a.numbers), nil
}

// tally is what arrived.
type tally struct {
	firsts []arrival // the first message of each event, in the order of the publishes
	twice  int       // messages beyond these
	breaks int       // events that came before an earlier one of their aggregate
}

func (a *arrivals) tally() tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.all)
	slices.SortFunc(all, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	var t tally
	seen, last := map[int]bool{}, map[int]int{}
	for _, m := range all {
		if seen[m.Number] {
			t.twice++
			continue
		}
		seen[m.Number] = true
		t.firsts = append(t.firsts, m)
		if before, ok := last[m.Aggregate]; ok && m.Number < before {
			t.breaks++
			continue
		}
		last[m.Aggregate] = m.Number
	}
	return t
}

// first and last are when the first and the last event were published.
func (t tally) first() time.Time { return t.firsts[0].at }
func (t tally) last() time.Time  { return t.firsts[len(t.firsts)-1].at }

// rate is in events a second, from the first to the last: what a process takes to start is not in it.
func (t tally) rate() float64 { return float64(len(t.firsts)-1) / t.last().Sub(t.first()).Seconds() }
