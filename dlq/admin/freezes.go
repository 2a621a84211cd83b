package admin

import (
	"context"
	"net/http"
	"time"

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
	DeadLetters []string         `json:"deadLetters" nullable:"false" doc:"IDs of all that froze it."`
	ReleasedBy  string           `json:"releasedBy,omitempty" doc:"Of a release under way, as all below."`
	ReleasedAt  time.Time        `json:"releasedAt,omitzero"`
	Release     string           `json:"release,omitempty" doc:"The decision's ID."`
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

type releaseInput struct {
	AggregateID string `path:"aggregateId" example:"acc-1" doc:"The aggregate, percent-encoded."`
	Body        Why
}

// freezes adds the operations about frozen aggregates.
func (a *api) freezes() {
	register(a, route{
		method: http.MethodGet, path: "/freezes", role: dlq.Viewer, name: "list-freezes", tag: tagFreezes,
		summary: "List frozen aggregates", description: "Those whose release is under way are among them.", also: []int{http.StatusUnprocessableEntity},
	}, a.listFreezes)
	register(a, route{
		method: http.MethodPost, path: "/freezes/{aggregateId}/release", role: dlq.Security, name: "release-aggregate", tag: tagFreezes,
		summary:     "Release a frozen aggregate",
		description: "What is held goes on, in order; the freeze is gone when all of that is pending again. It may be released while its dead letters are open: open names them.",
		status:      http.StatusAccepted, also: []int{http.StatusNotFound, http.StatusConflict},
	}, a.release)
}

func (a *api) listFreezes(ctx context.Context, in *PageQuery) (*output[FreezeList], error) {
	page, err := a.config.Queue.Freezes(ctx, in.page())
	if err != nil {
		return nil, err
	}
	return &output[FreezeList]{FreezeList{convert(page.Items, freezeOf), page.Next}}, nil
}

func (a *api) release(ctx context.Context, in *releaseInput) (*output[Released], error) {
	r, err := a.config.Queue.Release(ctx, in.AggregateID, actor(ctx), in.Body.Reason)
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
	}
}
