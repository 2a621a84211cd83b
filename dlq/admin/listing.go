package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"outboxrelay/dlq"
)

// DeadLetterCount is how many dead letters a filter selects.
type DeadLetterCount struct {
	Count   int64 `json:"count" example:"12" doc:"At most 1000."`
	AtLeast bool  `json:"atLeast" doc:"The count stopped there: there may be more."`
}

// NamedDeadLetters are the dead letters of some IDs.
type NamedDeadLetters struct {
	Items []DeadLetter `json:"items" nullable:"false"`
}

type countInput struct{ FilterQuery }

type namedInput struct {
	IDs string `query:"ids" required:"true" maxLength:"65536" example:"[\"7f0c:acc-1:3\"]" doc:"A JSON array of at most 200 IDs."`
}

// listing adds what a list that stands still asks for.
func (a *api) listing() {
	register(a, route{
		method: http.MethodGet, path: "/dlq/count", role: dlq.Viewer, name: "count-dead-letters", tag: tagDeadLetters,
		summary: "Count dead letters", description: "Up to 1000 of those that the filter selects.",
	}, a.countDeadLetters)
	register(a, route{
		method: http.MethodGet, path: "/dlq/named", role: dlq.Viewer, name: "named-dead-letters", tag: tagDeadLetters,
		summary: "Look at some dead letters again", description: "In the order of the IDs, without their records. Those that are gone are left out, and one that is named twice comes once.",
	}, a.namedDeadLetters)
}

func (a *api) countDeadLetters(ctx context.Context, in *countInput) (*output[DeadLetterCount], error) {
	n, more, err := a.config.Letters.Matching(ctx, in.filter())
	if err != nil {
		return nil, err
	}
	return &output[DeadLetterCount]{DeadLetterCount{n, more}}, nil
}

func (a *api) namedDeadLetters(ctx context.Context, in *namedInput) (*output[NamedDeadLetters], error) {
	var ids []string
	if json.Unmarshal([]byte(in.IDs), &ids) != nil {
		p := problem(http.StatusUnprocessableEntity, "ids is no JSON array of texts", `as in ids=["7f0c:acc-1:3"], percent-encoded`)
		p.Errors = []Fault{{"query.ids", "expected a JSON array of texts"}}
		return nil, p
	}
	items, err := a.config.Letters.Named(ctx, ids)
	if err != nil {
		return nil, err
	}
	return &output[NamedDeadLetters]{NamedDeadLetters{convert(items, deadLetterOf)}}, nil
}
