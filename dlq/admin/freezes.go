package admin

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Freeze is an aggregate whose records are held.
type Freeze struct {
	AggregateID string           `json:"aggregateId" example:"acc-1"`
	State       dlq.FreezeState  `json:"state" enum:"frozen,releasing" doc:"releasing: what was held is being put back."`
	FrozenAt    time.Time        `json:"frozenAt,omitzero"`
	Reason      contracts.Reason `json:"reason" doc:"Of the dead letter that froze it last, as all below up to traceId."`
	Outbox      string           `json:"outbox" example:"accOutbox"`
	EventType   string           `json:"eventType" example:"RoleChanged"`
	EventID     string           `json:"eventId"`
	TraceID     string           `json:"traceId"`
	DeadLetters []string         `json:"deadLetters" nullable:"false" doc:"IDs of what froze it; where these are more than about 100, of the first and the latest."`
	ReleasedBy  string           `json:"releasedBy,omitempty" doc:"Of a release under way, as all below."`
	ReleasedAt  time.Time        `json:"releasedAt,omitzero"`
	Release     string           `json:"release,omitempty" doc:"The decision's ID."`
	ETag        string           `json:"etag" example:"\"1d3k\"" doc:"For If-Match: a release with it is refused (412) when the freeze was changed since."`
	Held        *Held            `json:"held,omitempty" doc:"Its records that are held; left out where they are not counted."`
}

// Held is how many records a freeze holds.
type Held struct {
	Records  int64        `json:"records" example:"12" doc:"Of all outboxes."`
	AtLeast  bool         `json:"atLeast,omitempty" doc:"There may be more."`
	Outboxes []OutboxHeld `json:"outboxes" nullable:"false" doc:"Those that have any."`
}

// OutboxHeld is how many records of one outbox a freeze holds.
type OutboxHeld struct {
	Outbox  string `json:"outbox" example:"accOutbox"`
	Records int64  `json:"records" example:"12" doc:"Counted to 1000."`
	AtLeast bool   `json:"atLeast,omitempty" doc:"There may be more."`
}

// FreezeDetail is one freeze with what its release would let go on, and past what.
type FreezeDetail struct {
	Freeze
	Open []DeadLetter `json:"open" nullable:"false" doc:"SECURITY_BLOCK dead letters of the aggregate that nobody replayed or discarded: a release lets what is held overtake them. A few at most."`
}

// FreezeList is one page of freezes.
type FreezeList struct {
	Items         []Freeze `json:"items" nullable:"false"`
	NextPageToken string   `json:"nextPageToken,omitempty" doc:"For the next page."`
}

// Released is what a release begins with.
type Released struct {
	Freeze Freeze       `json:"freeze"`
	Open   []DeadLetter `json:"open" nullable:"false" doc:"SECURITY_BLOCK dead letters of the aggregate that nobody replayed or discarded: what is released overtakes them."`
}

type freezesInput struct {
	PageQuery
	Held string `query:"held" enum:"true" doc:"true: count what each holds. A page has 20 at most then."`
}

// maxFreezesHeld bounds a page whose held records are counted: each freeze costs
// a count of every outbox.
const maxFreezesHeld = 20

type freezeInput struct {
	AggregateID string `path:"aggregateId" example:"acc-1" doc:"The aggregate, percent-encoded. Those named . and .., which no path carries, stand as %252E and %252E. there."`
}

type releaseInput struct {
	AggregateID string `path:"aggregateId" example:"acc-1" doc:"The aggregate, percent-encoded. Those named . and .., which no path carries, stand as %252E and %252E. there."`
	IfMatch     string `header:"If-Match" example:"\"1d3k\"" doc:"The etag of the freeze that the caller looked at. The release is refused (412) when that was changed since, as by another dead letter."`
	Body        Why
}

// freezes adds the operations about frozen aggregates.
func (a *api) freezes() {
	register(a, route{
		method: http.MethodGet, path: "/freezes", role: dlq.Viewer, name: "list-freezes", tag: tagFreezes,
		summary: "List frozen aggregates", description: "Those whose release is under way are among them.",
	}, a.listFreezes)
	register(a, route{
		method: http.MethodGet, path: "/freezes/{aggregateId}", role: dlq.Viewer, name: "get-freeze", tag: tagFreezes,
		summary: "Look at a frozen aggregate", description: "With what is held, and what of it a release would let that overtake.",
		also: []int{http.StatusNotFound},
	}, a.getFreeze)
	register(a, route{
		method: http.MethodPost, path: "/freezes/{aggregateId}/release", role: dlq.Security, name: "release-aggregate", tag: tagFreezes,
		summary:     "Release a frozen aggregate",
		description: "What is held goes on, in order; the freeze is gone when all of that is pending again. It may be released while its dead letters are open: open names them.",
		status:      http.StatusAccepted, also: []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
	}, a.release)
}

func (a *api) listFreezes(ctx context.Context, in *freezesInput) (*output[FreezeList], error) {
	counted := in.Held == "true"
	if counted {
		in.Limit = min(in.Limit, maxFreezesHeld)
	}
	page, err := a.config.Freezes.Freezes(ctx, in.page())
	if err != nil {
		return nil, err
	}
	out := convert(page.Items, freezeOf)
	if counted {
		each := make([]*Freeze, len(out))
		for n := range out {
			each[n] = &out[n]
		}
		if err := a.countHeld(ctx, each...); err != nil {
			return nil, err
		}
	}
	return &output[FreezeList]{FreezeList{out, page.Next}}, nil
}

// freezesAtOnce is how many freezes are counted at the same time.
const freezesAtOnce = 4

func (a *api) countHeld(ctx context.Context, freezes ...*Freeze) error {
	if len(freezes) == 0 {
		return nil
	}
	outboxes, err := a.config.Freezes.Outboxes(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(freezesAtOnce)
	for _, f := range freezes {
		g.Go(func() (err error) {
			f.Held, err = a.held(ctx, outboxes, f.AggregateID)
			return err
		})
	}
	return g.Wait()
}

func (a *api) held(ctx context.Context, outboxes []string, aggregateID string) (*Held, error) {
	counts, err := a.config.Freezes.Held(ctx, outboxes, aggregateID)
	if err != nil {
		return nil, err
	}
	out := &Held{Outboxes: []OutboxHeld{}}
	for _, c := range counts {
		out.Records += c.Records
		out.AtLeast = out.AtLeast || c.AtLeast
		out.Outboxes = append(out.Outboxes, OutboxHeld(c))
	}
	return out, nil
}

func (a *api) getFreeze(ctx context.Context, in *freezeInput) (*output[FreezeDetail], error) {
	aggregate := dlq.NamedFreeze(in.AggregateID)
	freeze, err := a.config.Freezes.Freeze(ctx, aggregate)
	if err != nil {
		return nil, err
	}
	about(ctx, freeze.TraceID)
	out := FreezeDetail{Freeze: freezeOf(freeze)}
	if err := a.countHeld(ctx, &out.Freeze); err != nil {
		return nil, err
	}
	open, err := a.config.Freezes.Overtaken(ctx, aggregate)
	if err != nil {
		return nil, err
	}
	out.Open = convert(open, deadLetterOf)
	return &output[FreezeDetail]{out}, nil
}

func (a *api) release(ctx context.Context, in *releaseInput) (*output[Released], error) {
	saw, err := seen(in.IfMatch)
	if err != nil {
		return nil, err
	}
	r, err := a.config.Freezes.Release(ctx, dlq.NamedFreeze(in.AggregateID), dlq.Release{Actor: actor(ctx), Reason: in.Body.Reason, Seen: saw})
	if err != nil {
		return nil, err
	}
	about(ctx, r.Freeze.TraceID)
	return &output[Released]{Released{freezeOf(r.Freeze), convert(r.Open, deadLetterOf)}}, nil
}

func freezeOf(f *dlq.Freeze) Freeze {
	return Freeze{
		AggregateID: f.AggregateID, State: f.State, FrozenAt: f.FrozenAt, Reason: f.Reason, Outbox: f.Outbox, EventType: f.EventType,
		EventID: f.EventID, TraceID: f.TraceID, DeadLetters: append([]string{}, f.DeadLetters...),
		ReleasedBy: f.ReleasedBy, ReleasedAt: f.ReleasedAt, Release: f.Release,
		ETag: etag(f.UpdateTime),
	}
}
