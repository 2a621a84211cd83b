package admin

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

// Queue is what the API needs of the dead-letter queue; *dlq.Queue has it.
type Queue interface {
	Item(ctx context.Context, id string) (*dlq.Item, error)
	Older(ctx context.Context, item *dlq.Item) ([]*dlq.Item, error)
	List(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[*dlq.Item], error)
	Groups(ctx context.Context, f dlq.Filter, p dlq.Page) (dlq.Paged[dlq.GroupCount], error)
	Order(ctx context.Context, item *dlq.Item) (*dlq.OrderNote, error)
	Matching(ctx context.Context, f dlq.Filter) (n int64, more bool, err error)
	Named(ctx context.Context, ids []string) ([]*dlq.Item, error)
	Decide(ctx context.Context, id string, d dlq.Decide) (*dlq.Decided, error)
	Count(ctx context.Context) (*dlq.Counts, error)
	Uncover(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Uncovered, error)

	Select(ctx context.Context, f dlq.Filter, ids ...string) (*dlq.Selection, error)
	StartBulk(ctx context.Context, r dlq.BulkRequest) (*dlq.Bulk, error)
	Bulk(ctx context.Context, id string) (*dlq.Bulk, error)
	Bulks(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Bulk], error)
	CancelBulk(ctx context.Context, id string, a dlq.Actor, reason string) (*dlq.Bulk, error)

	Freezes(ctx context.Context, p dlq.Page) (dlq.Paged[*dlq.Freeze], error)
	Freeze(ctx context.Context, aggregateID string) (*dlq.Freeze, error)
	Held(ctx context.Context, aggregateID string) ([]dlq.Held, error)
	Overtaken(ctx context.Context, aggregateID string) ([]*dlq.Item, error)
	Release(ctx context.Context, aggregateID string, d dlq.Release) (*dlq.Released, error)

	LaneControls(ctx context.Context) (map[contracts.Lane]dlq.LaneControl, error)
	SetLane(ctx context.Context, lane contracts.Lane, paused bool, a dlq.Actor, reason string) (*dlq.LaneControl, error)

	Trace(ctx context.Context, traceID string) (*dlq.Timeline, error)
	Records(ctx context.Context, f dlq.RecordFilter) (*dlq.FoundRecords, error)
	Audit(ctx context.Context, f dlq.AuditFilter, p dlq.Page) (dlq.Paged[*dlq.Entry], error)
	Record(ctx context.Context, e *dlq.Entry) error
}

var _ Queue = (*dlq.Queue)(nil)

// Config is what the API is made of.
type Config struct {
	Queue         Queue
	Catalog       *contracts.Catalog // tells which events ask for two persons
	Status        Status
	Authenticator auth.Authenticator

	Log        *zap.Logger           // nil: none
	Registerer prometheus.Registerer // nil: no metrics are registered
	Now        func() time.Time      // nil: time.Now
	Timeout    time.Duration         // of one request; 0: 15 s
	// RatePerSecond and Burst bound the requests of one identity; 0: 50 and 200, so that
	// a script may work through a page of dead letters without pauses.
	RatePerSecond float64
	Burst         int
}

// Validate says all that is missing or wrong.
func (c Config) Validate() error {
	var faults []error
	need := func(there bool, what string) {
		if !there {
			faults = append(faults, errors.New(what+" is required"))
		}
	}
	need(c.Queue != nil, "queue")
	need(c.Catalog != nil, "catalog")
	need(c.Status != nil, "status")
	need(c.Authenticator != nil, "authenticator")
	if c.Timeout < 0 || c.RatePerSecond < 0 || c.Burst < 0 {
		faults = append(faults, errors.New("timeout, rate and burst cannot be negative"))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.RatePerSecond == 0 {
		c.RatePerSecond = 50
	}
	if c.Burst == 0 {
		c.Burst = 200
	}
	return c
}
