package admin

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/trace"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/desk"
)

var (
	_ Letters = (*dlq.Queue)(nil)
	_ Replays = (*dlq.Queue)(nil)
	_ Freezes = (*dlq.Queue)(nil)
	_ Lanes   = (*dlq.Queue)(nil)
	_ Queues  = (*desk.Desk)(nil)
)

// Letters are the dead letters, and what is decided about each; *dlq.Queue has them.
type Letters interface {
	Item(ctx context.Context, id string) (*dlq.Item, error)
	List(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[*dlq.Item], error)
	Named(ctx context.Context, ids []string) ([]*dlq.Item, error)
	Matching(ctx context.Context, f dlq.Filter) (n int64, more bool, err error)
	Groups(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[dlq.GroupCount], error)
	Count(ctx context.Context) (*dlq.Counts, error)
	Older(ctx context.Context, item *dlq.Item) ([]*dlq.Item, error)
	Relayed(ctx context.Context, outbox string) (bool, error)
	Order(ctx context.Context, item *dlq.Item) (*dlq.OrderNote, error)
	Decide(ctx context.Context, id string, d dlq.Decide) (*dlq.Decided, error)
	Uncover(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Uncovered, error)
}

// Replays are the bulk replays; *dlq.Queue has them.
type Replays interface {
	Select(ctx context.Context, f dlq.Filter, ids ...string) (*dlq.Selection, error)
	StartBulk(ctx context.Context, r dlq.BulkRequest) (*dlq.Bulk, error)
	Bulk(ctx context.Context, id string) (*dlq.Bulk, error)
	Bulks(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Bulk], error)
	CancelBulk(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Bulk, error)
}

// Freezes are the aggregates whose records are held; *dlq.Queue has them.
type Freezes interface {
	Freezes(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Freeze], error)
	Freeze(ctx context.Context, aggregateID string) (*dlq.Freeze, error)
	Outboxes(ctx context.Context) ([]string, error)
	Held(ctx context.Context, outboxes []string, aggregateID string) ([]dlq.Held, error)
	Overtaken(ctx context.Context, aggregateID string) ([]*dlq.Item, error)
	Release(ctx context.Context, aggregateID string, d dlq.Release) (*dlq.Released, error)
}

// Lanes pauses lanes and resumes them; *dlq.Queue does.
type Lanes interface {
	LaneControls(ctx context.Context) (map[contracts.Lane]dlq.LaneControl, error)
	SetLane(ctx context.Context, lane contracts.Lane, paused bool, a dlq.Actor, reason string) (*dlq.LaneControl, error)
}

// History is what was done, and by whom, and the way of records: of the first
// *dlq.Queue tells, of the other *trace.Finder.
type History interface {
	Trace(ctx context.Context, traceID string) (*trace.Timeline, error)
	Records(ctx context.Context, f trace.RecordFilter) (*trace.FoundRecords, error)
	Audit(ctx context.Context, f dlq.AuditFilter, p dlq.Page) (dlq.Paged[*dlq.Entry], error)
	Record(ctx context.Context, e *dlq.Entry) error
}

// Queues are the work queues; *desk.Desk has them. Those of a queue that there is not, and of a document that
// there is not, are refused as dlq.NotFound; a requeue that the document's state does not allow
// as dlq.Conflict.
type Queues interface {
	// Overviews tells of every queue, in the order of their names.
	Overviews(ctx context.Context) ([]desk.Overview, error)
	// Here tells how this instance does with a queue, from memory; ok is false where it does not
	// run it.
	Here(queue string) (h workqueue.Health, ok bool)
	// Items reads one page of a queue's documents, those that were created last first, without
	// Fields and History.
	Items(ctx context.Context, queue string, f desk.Filter, p dlq.Page) (dlq.Paged[*desk.Item], error)
	// QueueItem reads one document with all that is known of it, and when it was changed last.
	QueueItem(ctx context.Context, queue, id string) (*desk.Item, error)
	// Judge tells what a requeue of the document would come to, as things stand: the
	// warning that it bears, or why it is refused.
	Judge(i *desk.Item, by dlq.Actor) (warning string, refused *dlq.Refusal)
	// Requeue has a document tried again, and writes its audit entry in the same commit.
	Requeue(ctx context.Context, queue, id string, r desk.Requeue) (*desk.Requeued, error)
}
