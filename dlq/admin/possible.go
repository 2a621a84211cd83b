package admin

import (
	"context"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Possible is a decision, and whether the caller may make it now.
type Possible struct {
	Action  dlq.Action `json:"action" enum:"replay,authorize,withdraw,discard,note"`
	Allowed bool       `json:"allowed" doc:"It would be carried out, as things stand."`
	Why     string     `json:"why,omitempty" example:"its replay was not authorized" doc:"What stands in the way."`
	Hint    string     `json:"hint,omitempty" example:"someone with the role security authorizes it first" doc:"What to do about that."`
	First   []Before   `json:"first,omitempty" doc:"Dead letters that come before it, the first first; there may be more."`
}

// Before is an older dead letter of the same aggregate.
type Before struct {
	ID               string              `json:"id" example:"6e1b:acc-1:2"`
	AggregateVersion int64               `json:"aggregateVersion" example:"2"`
	State            contracts.DeadState `json:"state" example:"awaiting_review"`
}

// possible tells what the caller may decide about a dead letter: by the judgement
// that the queue gives a decision, which alone counts, as others may be faster.
func (a *api) possible(ctx context.Context, i *dlq.Item, who dlq.Actor) ([]Possible, error) {
	relayed, err := a.config.Letters.Relayed(ctx, i.Outbox)
	if err != nil {
		return nil, err
	}
	var out []Possible
	for _, action := range []dlq.Action{dlq.Replay, dlq.Authorize, dlq.Withdraw, dlq.Discard, dlq.Note} {
		p := Possible{Action: action}
		if _, refused := dlq.Judge(a.config.Catalog, i, relayed, action, who); refused != nil {
			p.Why, p.Hint = refused.Detail, refused.Hint
		} else if action == dlq.Replay {
			older, err := a.config.Letters.Older(ctx, i)
			if err != nil {
				return nil, err
			}
			if len(older) > 0 {
				p.Why, p.Hint = "an older dead letter of its aggregate comes first: "+names(older), "replay or discard the older one first"
				p.First = convert(older, func(o *dlq.Item) Before { return Before{o.ID, o.AggregateVersion, o.State} })
			}
		}
		p.Allowed = p.Why == ""
		out = append(out, p)
	}
	return out, nil
}

func names(items []*dlq.Item) string {
	ids := make([]string, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	return strings.Join(ids, ", ")
}
