package relay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"outboxrelay/contracts"
	inboxes "outboxrelay/contracts/inbox"
	inboxfirestore "outboxrelay/contracts/inbox/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/dlq/consumers"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// reader is a consumer behind a target: its subscription, and its inbox in Firestore.
type reader struct {
	f     *fixture
	name  string
	topic string
	opts  inboxes.Options
	store *inboxfirestore.Store
}

// reader makes a consumer's subscription, before anything is appended.
func (f *fixture) reader(name, topic string, o inboxes.Options) *reader {
	f.t.Helper()
	client := f.topics.Background()
	if _, err := client.SubscriptionAdminClient.CreateSubscription(f.ctx, &pb.Subscription{
		Name:  localpubsub.SubscriptionName(client.Project(), name+"-"+topic),
		Topic: localpubsub.TopicName(client.Project(), topic), EnableMessageOrdering: true,
		AckDeadlineSeconds: 10, // after which what a reader had that stopped comes again
	}); err != nil {
		f.t.Fatal(err)
	}
	o.Catalog, o.DeadLetters = f.catalog, consumers.New(dlqfirestore.New(f.db), f.catalog)
	o.Log = slog.New(slog.DiscardHandler)
	return &reader{f: f, name: name, topic: topic, opts: o, store: inboxfirestore.New(f.db.Client)}
}

// read has receive read the consumer's subscription until stop.
func (r *reader) read(receive func(*inboxes.Inbox) func(context.Context, *pubsub.Message)) (stop func()) {
	r.f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	subscriber := r.f.topics.Background().Subscriber(r.name + "-" + r.topic)
	subscriber.ReceiveSettings.MaxDurationPerAckExtension = 10 * time.Second // it asks for 60 at once otherwise
	handle := receive(inboxes.New(r.store, r.name, r.opts))
	done := make(chan error, 1)
	go func() { done <- subscriber.Receive(ctx, handle) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.f.t.Errorf("%s receives: %v", r.name, err)
		}
	})
	r.f.t.Cleanup(stop)
	return stop
}

// seen is how often what was there, by a key.
type seen struct {
	mu     sync.Mutex
	counts map[string]int
}

// add counts an event, and returns how often it was there.
func (s *seen) add(eventID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[eventID]++
	return s.counts[eventID]
}

func (s *seen) of(r *contracts.Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[r.EventID]
}

// least is how often that event was there which was there the least.
func (s *seen) least(of []*contracts.Record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := math.MaxInt
	for _, r := range of {
		least = min(least, s.counts[r.IdempotencyKey])
	}
	return least
}

func TestConsumersDeadLetterIsReplayedToItAlone(t *testing.T) { replayedToOne(t, newCloud(t)) }

func TestConsumersDeadLetterIsReplayedToItAloneOnGoogle(t *testing.T) { replayedToOne(t, onGoogle(t)) }

func replayedToOne(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	r := f.run()
	const topic = "ier-notif-router"
	var mended atomic.Bool
	var mails, counts seen
	options := inboxes.Options{Delays: []time.Duration{10 * time.Millisecond}, MaxTries: 2}
	f.reader("mail", topic, options).read(func(b *inboxes.Inbox) func(context.Context, *pubsub.Message) {
		return b.Handle(func(_ context.Context, e *inboxes.Event) error {
			mails.add(e.EventID)
			if mended.Load() {
				return nil
			}
			return errors.New("the mail server refuses")
		})
	})
	f.reader("analytics", topic, options).read(func(b *inboxes.Inbox) func(context.Context, *pubsub.Message) {
		return b.Handle(func(_ context.Context, e *inboxes.Event) error { counts.add(e.EventID); return nil })
	})
	record := f.record("schedOutbox", "ScheduleAssigned", "schedule-1", 1)
	f.append([]*contracts.Record{record}, 1)
	var item *dlq.Item
	f.eventually("it is dead for mail", func() bool {
		page, err := f.queue.List(t.Context(), dlq.Filter{TraceID: record.TraceID}, dlq.Page{})
		if err != nil || len(page.Items) != 1 {
			return false
		}
		item, err = f.queue.Item(t.Context(), page.Items[0].ID)
		return err == nil
	})
	if item.Consumer != "mail" || item.EventID != record.EventID || item.EventType != record.EventType || len(item.Errors) != 2 || mails.of(record) != 2 {
		t.Errorf("got %+v after %d tries", item, mails.of(record))
	}
	f.eventually("the record is delivered, and analytics has it", func() bool {
		return f.unmarked([]*contracts.Record{record}, contracts.Delivered) == 0 && counts.of(record) == 1
	})
	mended.Store(true)
	round := r.replay(item)
	if len(round.Acked) != 1 || len(round.Failed) != 0 {
		t.Errorf("got %+v, want it acknowledged by its topic", round)
	}
	f.eventually("mail has it", func() bool { return mails.of(record) == 3 })
	f.eventually("the replay has come by", func() bool {
		for _, m := range f.inbox.all() {
			if m.attributes[contracts.AttrConsumer] == "mail" && m.attributes[contracts.AttrReplay] == item.ID && m.attributes[contracts.AttrIdempotencyKey] == record.IdempotencyKey {
				return true
			}
		}
		return false
	})
	later := f.record("schedOutbox", "ScheduleAssigned", "schedule-1", 2) // which comes behind the replay
	f.append([]*contracts.Record{later}, 1)
	f.eventually("both have the next", func() bool { return mails.of(later) == 1 && counts.of(later) == 1 })
	if n := counts.of(record); n != 1 {
		t.Errorf("analytics handled it %d times, want once", n)
	}
}

// A consumer stops and starts while it reads, and the first acknowledgement of each message is
// lost, so that it comes again. What it writes in the transaction of its inbox happens exactly
// once, and in order.
func TestEffectsInTheInboxsTransactionHappenOnce(t *testing.T) {
	thorough.EndToEnd(t)
	effectsOnce(t, newCloud(t), 60, true)
}

func TestEffectsInTheInboxsTransactionHappenOnceOnGoogle(t *testing.T) {
	effectsOnce(t, onGoogle(t), 120, false) // the emulator brings what it delivers again in any order, as Pub/Sub does not
}

func effectsOnce(t *testing.T, c *cloud, n int, ordered bool) {
	const aggregates = 6
	f := setup(t, c)
	f.run()
	reader := f.reader("ledger", "ier-notif-router", inboxes.Options{})
	var came seen
	read := func() func() {
		return reader.read(func(b *inboxes.Inbox) func(context.Context, *pubsub.Message) {
			handle := inboxes.HandleIn(b, reader.store, func(_ context.Context, tx *sdk.Transaction, e *inboxes.Event) error {
				doc := f.db.Collection("ledger").Doc(e.AggregateID)
				return tx.Set(doc, map[string]any{"sum": sdk.Increment(1), "versions": sdk.ArrayUnion(e.AggregateVersion)}, sdk.MergeAll)
			})
			return func(ctx context.Context, m *pubsub.Message) {
				if came.add(m.Attributes[contracts.AttrIdempotencyKey]) > 1 {
					handle(ctx, m)
					return
				}
				handle(ctx, &pubsub.Message{Data: m.Data, Attributes: m.Attributes}) // what it answers arrives nowhere
				m.Nack()
			}
		})
	}
	var records []*contracts.Record
	for v := range n / aggregates {
		for a := range aggregates {
			records = append(records, f.record("schedOutbox", "ScheduleAssigned", fmt.Sprintf("schedule-%d", a), int64(v+1)))
		}
	}
	sums := func() (sum int, sound bool) {
		sound = true
		for a := range aggregates {
			snap, err := f.db.Collection("ledger").Doc(fmt.Sprintf("schedule-%d", a)).Get(f.ctx)
			if err != nil {
				return 0, true
			}
			one, _ := snap.Data()["sum"].(int64)
			versions, _ := snap.Data()["versions"].([]any)
			sum += int(one)
			for at, v := range versions {
				sound = sound && (!ordered || v == int64(at+1))
			}
			sound = sound && len(versions) == int(one)
		}
		return sum, sound
	}
	stop := read()
	f.append(records, 5)
	f.eventually("a part is handled", func() bool { sum, _ := sums(); return sum >= n/5 })
	stop() // once: it takes the deadline until what it had comes again
	stop = read()
	f.eventually("all is handled, and has come again", func() bool {
		sum, _ := sums()
		return sum >= n && came.least(records) > 1
	})
	stop()
	if sum, sound := sums(); sum != n || !sound {
		t.Errorf("%d effects, as they are meant is %v; want %d", sum, sound, n)
	}
}
