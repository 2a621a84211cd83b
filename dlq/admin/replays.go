package admin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
)

// BulkOrder asks for a bulk replay, of what a filter selects or of single dead
// letters.
type BulkOrder struct {
	Filter        *Filter  `json:"filter,omitempty" doc:"What to replay: this or ids; {} is everything that is open. Closed dead letters and those of SECURITY_BLOCK are left out."`
	IDs           []string `json:"ids,omitempty" nullable:"false" minItems:"1" maxItems:"200" example:"[\"7f0c:acc-1:3\"]" doc:"IDs of what to replay, instead of a filter."`
	DryRun        bool     `json:"dryRun,omitempty" doc:"Only tell what it would take."`
	Pin           string   `json:"pin,omitempty" maxLength:"200" example:"2.1d3k.Zx9" doc:"Of the dry run that was looked at. The order is refused (412) when it would take anything else now, or the same as it is not any more."`
	RequestID     string   `json:"requestId,omitempty" maxLength:"200" example:"0f9c2d9e" doc:"The caller's own name for the order. Sent again by the same identity, it is answered with the bulk replay that it started, and starts no other."`
	RatePerSecond float64  `json:"ratePerSecond,omitempty" minimum:"0" maximum:"1000" example:"10" doc:"How many a second, at most; 0 or left out: the catalog's rate."`
	Reason        string   `json:"reason,omitempty" maxLength:"900" example:"the consumer was mended" doc:"Why, for those who read the audit: at most 900 bytes."`
}

// maxOrderBytes bounds the body of an order. All its IDs fit, as long as they can be and
// with each byte escaped, in six.
const maxOrderBytes = maxBodyBytes + dlq.MaxPicked*(6*dlq.MaxIDBytes+len(`"",`))

// filter is what the order selects by. It must say so: one that says nothing
// would take everything.
func (o *BulkOrder) filter() (dlq.Filter, error) {
	switch {
	case o.Filter != nil && len(o.IDs) > 0:
		return dlq.Filter{}, problem(http.StatusUnprocessableEntity, "the order has a filter and ids", "leave one of them out")
	case o.Filter == nil && len(o.IDs) == 0:
		return dlq.Filter{}, problem(http.StatusUnprocessableEntity, "the order says nothing of what to replay", "give a filter, or ids")
	case o.Filter == nil:
		return dlq.Filter{}, nil
	}
	return o.Filter.filter(), nil
}

// OptionalWhy is the body of a decision that needs no reason.
type OptionalWhy struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" example:"it was the wrong consumer" doc:"Why, for those who read the audit: at most 1000 bytes."`
}

// reason is "" also for no body.
func (w *OptionalWhy) reason() string {
	if w == nil {
		return ""
	}
	return w.Reason
}

// Bulk is a bulk replay.
type Bulk struct {
	ID            string         `json:"id"`
	State         dlq.BulkState  `json:"state" enum:"running,done,stopped,cancelled" doc:"stopped: too many failed, or no instance relays any of it; endReason says so."`
	Phase         string         `json:"phase,omitempty" example:"ramp" doc:"While running: canary, the first few; or ramp."`
	Filter        Filter         `json:"filter"`
	Picked        bool           `json:"picked,omitempty" doc:"It was told its dead letters by their IDs: the filter says nothing."`
	RatePerSecond float64        `json:"ratePerSecond" example:"10"`
	By            string         `json:"by" example:"alice@example.com"`
	Reason        string         `json:"reason" example:"the consumer was mended"`
	CreatedAt     time.Time      `json:"createdAt"`
	EndedAt       time.Time      `json:"endedAt,omitzero"`
	EndReason     string         `json:"endReason,omitempty" doc:"Why it ended, in words."`
	CancelledBy   string         `json:"cancelledBy,omitempty"`
	Total         int            `json:"total" doc:"Dead letters that were pinned when it was made."`
	Delivered     int            `json:"delivered"`
	Failed        int            `json:"failed"`
	Skipped       int            `json:"skipped" doc:"Not what was pinned any more, behind an older one that failed, or of an outbox that no instance relays."`
	SkippedFor    map[string]int `json:"skippedFor,omitempty" doc:"How many of these were passed over for which reason, in words."`
	Replaying     int            `json:"replaying" doc:"Asked for and not ended."`
	Waiting       int            `json:"waiting" doc:"Not asked for yet."`
	HeldFor       map[string]int `json:"heldFor,omitempty" doc:"How many of replaying and waiting cannot go on now for which reason, in words: a target that is out, or an older dead letter."`
	FailedIDs     []string       `json:"failedIds,omitempty" nullable:"false" doc:"The dead letters that failed, the first 50 of them."`
}

// BulkList is one page of bulk replays.
type BulkList struct {
	Items         []Bulk `json:"items" nullable:"false"`
	NextPageToken string `json:"nextPageToken,omitempty" doc:"For the next page."`
}

// Selection is what a bulk replay would take, in the order in which it would.
type Selection struct {
	DryRun  bool           `json:"dryRun" doc:"Always true."`
	Total   int            `json:"total"`
	Items   []Selected     `json:"items" nullable:"false"`
	Refused map[string]int `json:"refused" doc:"How many were asked for that it would not take, by the reason."`
	Pin     string         `json:"pin" example:"2.1d3k.Zx9" doc:"Stands for exactly these, as they are: an order with it takes nothing else."`
	Plan    Plan           `json:"plan" doc:"How it would go on."`
}

// Plan is how a bulk replay goes on while nothing fails, and when it stops.
type Plan struct {
	Canary         int     `json:"canary" example:"5" doc:"So many go first, of different aggregates if there are."`
	CanaryMayFail  int     `json:"canaryMayFail" example:"1" doc:"It stops when more of these fail."`
	FirstPerSecond float64 `json:"firstPerSecond" example:"1" doc:"The rate after that, which doubles every stepSeconds."`
	StepSeconds    int     `json:"stepSeconds" example:"5"`
	RatePerSecond  float64 `json:"ratePerSecond" example:"10" doc:"The rate at most."`
	MaxFailed      int     `json:"maxFailed" example:"20" doc:"It stops when more percent of the latest fail."`
	Latest         int     `json:"latest" example:"50" doc:"How many these are."`
	Seconds        int     `json:"seconds" example:"12" doc:"What it takes at the least."`
}

// Selected is one dead letter of a selection.
type Selected struct {
	ID               string              `json:"id" example:"7f0c:acc-1:3"`
	Tier             contracts.Tier      `json:"tier"`
	State            contracts.DeadState `json:"state"`
	Reason           contracts.Reason    `json:"reason"`
	Outbox           string              `json:"outbox"`
	EventType        string              `json:"eventType"`
	TraceID          string              `json:"traceId"`
	AggregateID      string              `json:"aggregateId"`
	AggregateVersion *int64              `json:"aggregateVersion" doc:"null where its record has no sound one."`
	Lane             contracts.Lane      `json:"lane"`
	DeadAt           time.Time           `json:"deadAt"`
	Replays          int                 `json:"replays"`
	PendingTargets   []string            `json:"pendingTargets" nullable:"false" doc:"Where it would be delivered."`
	LastError        *Attempt            `json:"lastError,omitempty" doc:"Its last failed attempt; the message of a violation of its contract tells every fault."`
	Canary           bool                `json:"canary,omitempty" doc:"It goes first."`
}

type bulkInput struct {
	RawBody []byte
	Body    BulkOrder
}

// bulkStarted is the answer to a BulkOrder: a Bulk or a Selection.
type bulkStarted struct {
	Status   int
	Location string `header:"Location" doc:"Of the bulk replay."`
	Body     any
}

type bulkIDInput struct {
	ID string `path:"id" doc:"The bulk replay's ID."`
}

type cancelInput struct {
	ID   string `path:"id" doc:"The bulk replay's ID."`
	Body *OptionalWhy
}

// replays adds the operations about bulk replays.
func (a *api) replays() {
	register(a, route{
		method: http.MethodPost, path: "/replays", role: dlq.Operator, name: "start-bulk-replay", tag: tagReplays,
		summary: "Replay many dead letters",
		description: "What the filter selects now, or the ids name, is pinned: nothing else is ever replayed by it. An order without both is refused, and the filter {} selects everything that is open. With dryRun it is only told; " +
			"with the pin of such an answer exactly that is replayed, or nothing. A few go first; while they succeed it goes faster, up to ratePerSecond, and it stops when too many fail. SECURITY_BLOCK is never taken.",
		status: http.StatusAccepted, also: []int{http.StatusConflict, http.StatusPreconditionFailed}, maxBody: maxOrderBytes,
		responses: map[string]*huma.Response{
			"200": answers[Selection](a, "What it would take."),
			"202": answers[Bulk](a, "It runs."),
		},
	}, a.startBulk)
	register(a, route{
		method: http.MethodGet, path: "/replays", role: dlq.Operator, name: "list-bulk-replays", tag: tagReplays,
		summary: "List bulk replays", description: "The latest first.",
	}, a.listBulks)
	register(a, route{
		method: http.MethodGet, path: "/replays/{id}", role: dlq.Operator, name: "get-bulk-replay", tag: tagReplays,
		summary: "Look at a bulk replay", also: []int{http.StatusNotFound},
	}, a.getBulk)
	register(a, route{
		method: http.MethodPost, path: "/replays/{id}/cancel", role: dlq.Operator, name: "cancel-bulk-replay", tag: tagReplays,
		summary: "Cancel a bulk replay", description: "It asks for nothing more. What it has asked for ends by itself.",
		also: []int{http.StatusNotFound, http.StatusConflict},
	}, a.cancelBulk)
}

func (a *api) startBulk(ctx context.Context, in *bulkInput) (*bulkStarted, error) {
	order := in.Body
	filter, err := order.filter()
	if err != nil {
		return nil, err
	}
	if order.DryRun {
		s, err := a.config.Replays.Select(ctx, filter, order.IDs...)
		if err != nil {
			return nil, err
		}
		rate := cmp.Or(order.RatePerSecond, min(a.config.Catalog.Replay.RatePerSecond, dlq.MaxBulkRate))
		return &bulkStarted{Status: http.StatusOK, Body: selectionOf(s, rate)}, nil
	}
	b, err := a.config.Replays.StartBulk(ctx, dlq.BulkRequest{
		Filter: filter, IDs: order.IDs, Pin: order.Pin, Key: order.RequestID, RatePerSecond: order.RatePerSecond, Actor: actor(ctx), Reason: order.Reason,
	})
	if err != nil {
		return nil, err
	}
	return &bulkStarted{Status: http.StatusAccepted, Location: Prefix + "/replays/" + url.PathEscape(b.ID), Body: bulkOf(b)}, nil
}

func (a *api) listBulks(ctx context.Context, in *PageQuery) (*output[BulkList], error) {
	page, err := a.config.Replays.Bulks(ctx, in.page())
	if err != nil {
		return nil, err
	}
	return &output[BulkList]{BulkList{convert(page.Items, bulkOf), page.Next}}, nil
}

func (a *api) getBulk(ctx context.Context, in *bulkIDInput) (*output[Bulk], error) {
	b, err := a.config.Replays.Bulk(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &output[Bulk]{bulkOf(b)}, nil
}

func (a *api) cancelBulk(ctx context.Context, in *cancelInput) (*output[Bulk], error) {
	b, err := a.config.Replays.CancelBulk(ctx, in.ID, actor(ctx), in.Body.reason())
	if err != nil {
		return nil, err
	}
	return &output[Bulk]{bulkOf(b)}, nil
}

func bulkOf(b *dlq.Bulk) Bulk {
	return Bulk{
		ID: b.ID, State: b.State, Phase: b.Phase, Filter: filterOf(b.Filter), RatePerSecond: b.RatePerSecond, By: b.By.Name, Reason: b.Reason,
		CreatedAt: b.CreatedAt, EndedAt: b.EndedAt, EndReason: b.EndReason, CancelledBy: b.CancelledBy,
		Total: b.Total, Delivered: b.Delivered, Failed: b.Failed, Skipped: b.Skipped, Replaying: b.Replaying, Waiting: b.Waiting,
		Picked: b.Picked, FailedIDs: b.FailedIDs, SkippedFor: b.SkippedFor, HeldFor: b.HeldFor,
	}
}

func selectionOf(s *dlq.Selection, rate float64) Selection {
	p := bulk.PlanOf(len(s.Items), rate)
	out := Selection{
		DryRun: true, Total: len(s.Items), Items: convert(s.Items, selectedOf), Refused: s.Refused, Pin: s.Pin,
		Plan: Plan{p.Canary, p.CanaryMayFail, p.First, int(p.Step.Seconds()), p.Full, p.MaxFailed, p.Latest, int(p.Takes.Seconds())},
	}
	if out.Refused == nil {
		out.Refused = map[string]int{}
	}
	first := bulk.Canary(s)
	for n := range out.Items {
		out.Items[n].Canary = first[out.Items[n].ID]
	}
	return out
}

func selectedOf(i *dlq.Item) Selected {
	out := Selected{
		ID: i.ID, Tier: i.Tier, State: i.State, Reason: i.Reason, Outbox: i.Outbox, EventType: i.EventType, TraceID: i.TraceID, AggregateID: i.AggregateID,
		AggregateVersion: versionOf(i), Lane: i.Lane, DeadAt: i.DeadAt, Replays: i.Replays, PendingTargets: append([]string{}, i.PendingTargets...),
	}
	if e, ok := contracts.LastFailure(i.Errors); ok {
		out.LastError = &Attempt{e.At, e.Attempt, e.Target, e.Code, e.Message}
	}
	return out
}
