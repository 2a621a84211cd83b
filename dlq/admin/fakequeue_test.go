package admin_test

import (
	"context"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/trace"
)

// fakeQueue answers what a test puts into it, and remembers what it was asked.
type fakeQueue struct {
	mu      sync.Mutex
	err     error // of every call but Record
	block   bool  // every call waits for the end of its context
	panics  any   // what every call panics with
	item    *dlq.Item
	errors  []contracts.AttemptError // of the selected one, where they are not the usual
	older   []*dlq.Item
	calls   []string
	id      string // of the last call that has one
	ids     []string
	decide  dlq.Decide
	filter  dlq.Filter
	page    dlq.Page
	bulk    dlq.BulkRequest
	entries []*dlq.Entry // recorded
}

var died = time.Date(2026, 3, 1, 10, 0, 0, 123456000, time.UTC)

// letter is a dead letter as the queue reads it.
func letter() *dlq.Item {
	return &dlq.Item{
		ID: "7f0c:acc-1:3", Tier: contracts.ReviewRequired, OriginalTier: contracts.ReviewRequired, State: contracts.DeadAwaitingReview,
		Reason: contracts.AttemptsExhausted, Outbox: "accOutbox", RecordPath: "accOutbox/7f0c:acc-1:3", EventID: "7f0c", EventType: "WalletDeducted",
		TraceID: "trace-1", IdempotencyKey: "7f0c:acc-1:3", AggregateID: "acc-1", AggregateVersion: 3, Lane: contracts.CriticalLane,
		PendingTargets: []string{"FUNNEL_CRITICAL"}, Attempts: 3, DeadAt: died, UpdateTime: died,
		Errors: []contracts.AttemptError{{At: died, Attempt: 3, Target: "FUNNEL_CRITICAL", Code: "Internal", Message: "no"}},
		Record: map[string]any{"eventId": "7f0c", "status": "dead", "payload": map[string]any{"secret": "pass" + "word"}, "extra": "more"},
	}
}

// begin notes a call and gives what it ends with at once.
func (q *fakeQueue) begin(ctx context.Context, call string) error {
	q.mu.Lock()
	q.calls = append(q.calls, call)
	err, block, panics := q.err, q.block, q.panics
	q.mu.Unlock()
	if panics != nil {
		panic(panics)
	}
	if block {
		<-ctx.Done()
		if err == nil {
			err = ctx.Err()
		}
	}
	return err
}

func (q *fakeQueue) asked() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string{}, q.calls...)
}

func (q *fakeQueue) Item(ctx context.Context, id string) (*dlq.Item, error) {
	if err := q.begin(ctx, "Item"); err != nil {
		return nil, err
	}
	q.id = id
	if q.item == nil {
		return nil, &dlq.Refusal{Kind: dlq.NotFound, Detail: "there is none"}
	}
	return q.item, nil
}

func (q *fakeQueue) Older(ctx context.Context, _ *dlq.Item) ([]*dlq.Item, error) {
	return q.older, q.begin(ctx, "Older")
}

func (q *fakeQueue) Relayed(ctx context.Context, outbox string) (bool, error) {
	return outbox != "goneOutbox", q.begin(ctx, "Relayed")
}

func (q *fakeQueue) Order(ctx context.Context, _ *dlq.Item) (*dlq.OrderNote, error) {
	return &dlq.OrderNote{DeliveredSince: 1, Message: "one later version"}, q.begin(ctx, "Order")
}

func (q *fakeQueue) Uncover(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Uncovered, error) {
	if err := q.begin(ctx, "Uncover"); err != nil {
		return nil, err
	}
	q.id = id
	item := *q.item
	return &dlq.Uncovered{Item: &item, Entry: &dlq.Entry{ID: "look", At: died, Actor: a.Name, Action: "uncover", Reason: reason}}, nil
}

func (q *fakeQueue) List(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[*dlq.Item], error) {
	if err := q.begin(ctx, "List"); err != nil {
		return dlq.Paged[*dlq.Item]{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.filter, q.page = f, p
	return dlq.Paged[*dlq.Item]{Items: []*dlq.Item{q.item}, Next: "more"}, nil
}

func (q *fakeQueue) Groups(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[dlq.GroupCount], error) {
	if err := q.begin(ctx, "Groups"); err != nil {
		return dlq.Paged[dlq.GroupCount]{}, err
	}
	q.filter, q.page = f, p
	return dlq.Paged[dlq.GroupCount]{Items: []dlq.GroupCount{{Group: dlq.Group{ID: "g", EventType: "E", Code: "Internal"}, Count: 2}}}, nil
}

func (q *fakeQueue) Matching(ctx context.Context, f dlq.Filter) (n int64, more bool, err error) {
	q.filter = f
	return dlq.MaxMatching, true, q.begin(ctx, "Matching")
}

func (q *fakeQueue) Named(ctx context.Context, ids []string) ([]*dlq.Item, error) {
	q.ids = ids
	return []*dlq.Item{letter()}, q.begin(ctx, "Named")
}

func (q *fakeQueue) Decide(ctx context.Context, id string, d dlq.Decide) (*dlq.Decided, error) {
	if err := q.begin(ctx, "Decide"); err != nil {
		return nil, err
	}
	q.id, q.decide = id, d
	out := &dlq.Decided{Item: letter(), Entry: &dlq.Entry{ID: "decision", At: died, Actor: d.Actor.Name, Reason: d.Reason}}
	if d.Action == dlq.Replay {
		out.Order = &dlq.OrderNote{DeliveredSince: 1, Message: "one later version"}
	}
	return out, nil
}

func (q *fakeQueue) Select(ctx context.Context, f dlq.Filter, ids ...string) (*dlq.Selection, error) {
	q.filter, q.ids = f, ids
	item := *q.item
	if q.errors != nil {
		item.Errors = q.errors
	}
	return &dlq.Selection{Items: []*dlq.Item{&item}, Pin: "1.a.b"}, q.begin(ctx, "Select")
}

func (q *fakeQueue) StartBulk(ctx context.Context, r dlq.BulkRequest) (*dlq.Bulk, error) {
	q.bulk = r
	return &dlq.Bulk{ID: "bulk 1", State: dlq.BulkRunning, Filter: r.Filter, By: r.Actor, CreatedAt: died, Total: 1, Waiting: 1}, q.begin(ctx, "StartBulk")
}

func (q *fakeQueue) Bulk(ctx context.Context, id string) (*dlq.Bulk, error) {
	return &dlq.Bulk{ID: id, State: dlq.BulkDone, CreatedAt: died}, q.begin(ctx, "Bulk")
}

func (q *fakeQueue) Bulks(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Bulk], error) {
	q.page = p
	return dlq.Paged[*dlq.Bulk]{Items: []*dlq.Bulk{{ID: "b", State: dlq.BulkStopped, CreatedAt: died}}}, q.begin(ctx, "Bulks")
}

func (q *fakeQueue) CancelBulk(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Bulk, error) {
	q.bulk = dlq.BulkRequest{Actor: a, Reason: reason}
	return &dlq.Bulk{ID: id, State: dlq.BulkCancelled, CancelledBy: a.Name, CreatedAt: died}, q.begin(ctx, "CancelBulk")
}

func (q *fakeQueue) Freezes(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Freeze], error) {
	q.page = p
	return dlq.Paged[*dlq.Freeze]{Items: []*dlq.Freeze{{AggregateID: "acc-1", State: dlq.Frozen}}}, q.begin(ctx, "Freezes")
}

func (q *fakeQueue) Freeze(ctx context.Context, aggregateID string) (*dlq.Freeze, error) {
	q.id = aggregateID
	return &dlq.Freeze{AggregateID: aggregateID, State: dlq.Frozen}, q.begin(ctx, "Freeze")
}

func (q *fakeQueue) Outboxes(ctx context.Context) ([]string, error) {
	return []string{"accOutbox", "orgOutbox"}, q.begin(ctx, "Outboxes")
}

func (q *fakeQueue) Held(ctx context.Context, _ []string, _ string) ([]dlq.Held, error) {
	return []dlq.Held{{Outbox: "accOutbox", Records: 2}, {Outbox: "orgOutbox", Records: 1000, AtLeast: true}}, q.begin(ctx, "Held")
}

func (q *fakeQueue) Overtaken(ctx context.Context, _ string) ([]*dlq.Item, error) {
	return []*dlq.Item{letter()}, q.begin(ctx, "Overtaken")
}

func (q *fakeQueue) Release(ctx context.Context, aggregateID string, _ dlq.Release) (*dlq.Released, error) {
	q.id = aggregateID
	return &dlq.Released{Freeze: &dlq.Freeze{AggregateID: aggregateID, State: dlq.Releasing}, Open: []*dlq.Item{letter()}}, q.begin(ctx, "Release")
}

func (q *fakeQueue) LaneControls(ctx context.Context) (map[contracts.Lane]dlq.LaneControl, error) {
	return map[contracts.Lane]dlq.LaneControl{
		contracts.BackgroundLane: {Lane: contracts.BackgroundLane, Paused: true, By: "alice@example.com", At: died, Reason: "because"},
	}, q.begin(ctx, "LaneControls")
}

func (q *fakeQueue) SetLane(ctx context.Context, lane contracts.Lane, paused bool, a dlq.Actor, reason string) (*dlq.LaneControl, error) {
	return &dlq.LaneControl{Lane: lane, Paused: paused, By: a.Name, At: died, Reason: reason}, q.begin(ctx, "SetLane")
}

func (q *fakeQueue) Count(ctx context.Context) (*dlq.Counts, error) {
	return &dlq.Counts{At: died, Freezes: 2, Tiers: []dlq.TierCount{{
		Tier: contracts.SecurityBlock, Open: 3, Oldest: died, Replaying: 1,
		States: []dlq.StateCount{{State: contracts.DeadBlocked, Open: 2, Oldest: died}, {State: contracts.DeadAuthorized, Open: 1, Oldest: died}},
	}}}, q.begin(ctx, "Count")
}

func (q *fakeQueue) Trace(ctx context.Context, traceID string) (*trace.Timeline, error) {
	q.id = traceID
	return &trace.Timeline{
		TraceID: traceID, Events: []trace.Event{{At: died, Kind: "appended", Summary: "appended"}}, Records: []trace.Record{{Record: &contracts.Record{Outbox: "accOutbox", ID: "1"}, Versionless: q.item.Versionless}},
		DeadLetters: []*dlq.Item{letter()}, Freezes: []*dlq.Freeze{{AggregateID: "acc-1", State: dlq.Frozen}},
	}, q.begin(ctx, "Trace")
}

func (q *fakeQueue) Records(ctx context.Context, f trace.RecordFilter) (*trace.FoundRecords, error) {
	q.id = f.AggregateID
	return &trace.FoundRecords{Records: []trace.Record{{Record: &contracts.Record{Outbox: "accOutbox", ID: "1", TraceID: "trace-1"}, Versionless: q.item.Versionless}}}, q.begin(ctx, "Records")
}

func (q *fakeQueue) Audit(ctx context.Context, _ dlq.AuditFilter, p dlq.Page) (dlq.Paged[*dlq.Entry], error) {
	q.page = p
	return dlq.Paged[*dlq.Entry]{Items: []*dlq.Entry{{ID: "e", At: died, Actor: "a", Role: dlq.Operator, Subject: dlq.SubjectLane}}}, q.begin(ctx, "Audit")
}

func (q *fakeQueue) Record(ctx context.Context, e *dlq.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries = append(q.entries, e)
	return nil
}

// fakeStatus is an instance that does well.
type fakeStatus struct{}

func (fakeStatus) lane(l contracts.Lane, paused bool) adminLane {
	var unsettled []admin.Unsettled
	if paused {
		unsettled = []admin.Unsettled{{Outbox: "wsOutbox", Records: 12, Since: died}}
	}
	return adminLane{Lane: l, Unsettled: unsettled, SLA: 500 * time.Millisecond, PausedHere: paused, Queued: 1, Delivered: 10, P99: 40 * time.Millisecond}
}
