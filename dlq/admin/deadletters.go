package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"outboxrelay/dlq"
)

// DeadLetterDetail is one dead letter with all that is known of it.
type DeadLetterDetail struct {
	DeadLetter
	Record          map[string]any `json:"record" doc:"The outbox record as it stood."`
	RecordTrimmed   bool           `json:"recordTrimmed,omitempty" doc:"The copy lacks its payload: it stands in the outbox document, and in envelope where the copy has that."`
	PayloadWithheld string         `json:"payloadWithheld,omitempty" example:"the payload of a SECURITY_BLOCK dead letter is covered" doc:"Why part of the record is not shown, and how to see it."`
	Actions         []Possible     `json:"actions" nullable:"false" doc:"What the caller may decide about it now."`
	Order           *OrderNote     `json:"order,omitempty" doc:"What a replay would do to the order of its aggregate; left out where the caller may not ask for one now."`
}

// DeadLetterList is one page of dead letters, the latest first.
type DeadLetterList struct {
	Items         []DeadLetter `json:"items" nullable:"false"`
	NextPageToken string       `json:"nextPageToken,omitempty" doc:"For the next page."`
}

// Group is a kind of dead letter: an event type and an error.
type Group struct {
	ID        string    `json:"id" doc:"For the filter group."`
	EventType string    `json:"eventType" example:"WalletDeducted"`
	Code      string    `json:"code" example:"Internal" doc:"Of the last failed attempt, or the reason where there was none."`
	Error     string    `json:"error" example:"the topic refuses message <n>" doc:"Its message, without what differs from case to case."`
	Count     int64     `json:"count" example:"12" doc:"Dead letters of the group that the filter selects."`
	FirstSeen time.Time `json:"firstSeen,omitzero" doc:"When the first of these died."`
	LastSeen  time.Time `json:"lastSeen,omitzero" doc:"When the last of these died."`
}

// GroupList is one page of groups.
type GroupList struct {
	Items         []Group `json:"items" nullable:"false"`
	NextPageToken string  `json:"nextPageToken,omitempty" doc:"For the next page. A page may be short, and even empty, before the last one."`
}

type filteredInput struct {
	FilterQuery
	PageQuery
}

type deadLetterInput struct {
	ID string `path:"id" example:"7f0c:acc-1:3" doc:"The dead letter's ID, percent-encoded: a % in it becomes %25. Those named count, groups, named and summary, which stand for something else under /dlq, are written %2563ount, %2567roups, %256Eamed and %2573ummary."`
}

type deadLetterOutput struct {
	ETag string `header:"ETag" doc:"For If-Match of a decision."`
	Body DeadLetterDetail
}

// deadLetters adds the operations that read dead letters.
func (a *api) deadLetters() {
	register(a, route{
		method: http.MethodGet, path: "/dlq", role: dlq.Viewer, name: "list-dead-letters", tag: tagDeadLetters,
		summary: "List dead letters", description: "The latest first, without their records. All filters hold together.",
	}, a.listDeadLetters)
	register(a, route{
		method: http.MethodGet, path: "/dlq/groups", role: dlq.Viewer, name: "list-groups", tag: tagDeadLetters,
		summary: "Count dead letters by event type and error", description: "Open ones, unless state or open is given. Within a page the most numerous is first.",
	}, a.listGroups)
	register(a, route{
		method: http.MethodGet, path: "/dlq/{id}", role: dlq.Viewer, name: "get-dead-letter", tag: tagDeadLetters,
		summary: "Look at a dead letter", description: "With its record, and what the caller may decide about it. The payload of a SECURITY_BLOCK one is covered: see uncover.",
		also: []int{http.StatusNotFound},
	}, a.getDeadLetter)
	a.uncovers()
}

func (a *api) listDeadLetters(ctx context.Context, in *filteredInput) (*output[DeadLetterList], error) {
	about(ctx, in.TraceID)
	page, err := a.config.Letters.List(ctx, in.filter(), in.page())
	if err != nil {
		return nil, err
	}
	return &output[DeadLetterList]{DeadLetterList{convert(page.Items, deadLetterOf), page.Next}}, nil
}

func (a *api) listGroups(ctx context.Context, in *filteredInput) (*output[GroupList], error) {
	page, err := a.config.Letters.Groups(ctx, in.filter(), in.page())
	if err != nil {
		return nil, err
	}
	return &output[GroupList]{GroupList{convert(page.Items, groupOf), page.Next}}, nil
}

func groupOf(g dlq.GroupCount) Group {
	return Group{g.ID, g.EventType, g.Code, g.Error, g.Count, g.FirstSeen, g.LastSeen}
}

func (a *api) getDeadLetter(ctx context.Context, in *deadLetterInput) (*deadLetterOutput, error) {
	item, err := a.config.Letters.Item(ctx, dlq.NamedLetter(in.ID))
	if err != nil {
		return nil, err
	}
	about(ctx, item.TraceID)
	who := actor(ctx)
	out := &deadLetterOutput{ETag: etag(item.UpdateTime), Body: DeadLetterDetail{DeadLetter: deadLetterOf(item), RecordTrimmed: item.RecordTrimmed}}
	out.Body.Record, out.Body.PayloadWithheld = coveredRecord(item)
	if out.Body.Actions, err = a.possible(ctx, item, who); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(out.Body.Actions, func(p Possible) bool { return p.Action == dlq.Replay && p.Allowed }) {
		order, err := a.config.Letters.Order(ctx, item)
		if err != nil {
			return nil, err
		}
		out.Body.Order = orderNoteOf(order)
	}
	return out, nil
}
