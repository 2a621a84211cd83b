package relay_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	gpubsub "cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/contracts"
	localpubsub "outboxrelay/deploy/local/pubsub"
)

// received is one message as a consumer got it.
type received struct {
	topic      string
	id         string // counted up by the broker
	attributes map[string]string
	envelope   contracts.Envelope
}

// inbox collects what arrives on every topic.
type inbox struct {
	mu       sync.Mutex
	messages []received
}

// targetTopics is how the topics of targets begin.
const targetTopics = "ier-"

// consume subscribes to every target's topic.
func (f *fixture) consume() *inbox {
	f.t.Helper()
	in := &inbox{}
	client := f.topics.Background()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, topic := range f.catalog.Topics() {
		if !strings.HasPrefix(topic, targetTopics) {
			continue
		}
		sub := topic + "-test"
		if err := localpubsub.Subscribe(f.ctx, client, topic, sub); err != nil {
			f.t.Fatal(err)
		}
		wg.Go(func() { in.receive(ctx, client, topic, sub) })
	}
	f.t.Cleanup(func() { cancel(); wg.Wait() })
	return in
}

func (in *inbox) receive(ctx context.Context, client *gpubsub.Client, topic, sub string) {
	for ctx.Err() == nil {
		_ = localpubsub.Receive(ctx, client, sub, func(ms []*pb.ReceivedMessage) {
			in.mu.Lock()
			defer in.mu.Unlock()
			for _, m := range ms {
				r := received{topic: topic, id: m.GetMessage().GetMessageId(), attributes: m.GetMessage().GetAttributes()}
				_ = json.Unmarshal(m.GetMessage().GetData(), &r.envelope)
				in.messages = append(in.messages, r)
			}
		})
	}
}

func (in *inbox) all() []received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.messages)
}

// judgement is what the consumers saw of the records that were appended.
type judgement struct {
	missing    int // records that a target of theirs never got
	duplicates int
	disordered int // first arrivals that came after a higher version of their aggregate
}

// judge compares what arrived with what was appended.
func (f *fixture) judge(records []*contracts.Record) judgement {
	var j judgement
	seen := make(map[string]int)         // target and key
	highest := make(map[string]received) // by target, outbox, lane and aggregate
	for _, m := range f.inbox.all() {
		a := m.attributes
		id := a["target"] + " " + a["idempotencyKey"]
		seen[id]++
		if seen[id] > 1 {
			j.duplicates++
			continue
		}
		agg := a["target"] + " " + a["outbox"] + " " + a["lane"] + " " + a["aggregateId"]
		switch above := highest[agg]; {
		case m.envelope.AggregateVersion >= above.envelope.AggregateVersion:
			highest[agg] = m
		case f.shownInPieces(m, above):
		default:
			if j.disordered++; j.disordered <= 5 {
				f.t.Logf("%s: version %d (message %s) arrived after %d (message %s)", agg, m.envelope.AggregateVersion, m.id, above.envelope.AggregateVersion, above.id)
			}
		}
	}
	for _, r := range records {
		for _, target := range f.catalog.Outbox(r.Outbox).Route(r.EventType).Targets {
			if seen[target+" "+r.IdempotencyKey] == 0 {
				j.missing++
			}
		}
	}
	return j
}

// shownInPieces reports whether two messages are of one commit on Google's
// emulator. Under load that shows a listener a commit of many documents in
// pieces, which Firestore does not: of 1,900 parts of commits of 20 documents,
// 26 came so. No read time tells, so nobody could keep their order.
func (f *fixture) shownInPieces(a, b received) bool {
	if f.cloud.embedded != nil {
		return false
	}
	appended := func(m received) any {
		return f.fields(m.attributes["outbox"] + "/" + m.attributes["idempotencyKey"])[contracts.FieldCreatedAt]
	}
	at := appended(a)
	return at != nil && at == appended(b)
}
