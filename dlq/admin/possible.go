package admin

import (
	"context"
	"fmt"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Possible is a decision, and whether the caller may make it now.
type Possible struct {
	Action  dlq.Action `json:"action" enum:"replay,authorize,discard,note"`
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

// possible tells what the caller may decide about a dead letter. It looks where
// the queue looks when it judges a decision, which alone counts: others may be
// faster.
func (a *api) possible(ctx context.Context, i *dlq.Item, who dlq.Actor) ([]Possible, error) {
	var out []Possible
	for _, action := range []dlq.Action{dlq.Replay, dlq.Authorize, dlq.Discard, dlq.Note} {
		p := Possible{Action: action}
		p.Why, p.Hint = a.obstacle(i, action, who)
		if p.Why == "" && action == dlq.Replay {
			p.Why, p.Hint = a.secondPerson(i, who)
		}
		if p.Why == "" && action == dlq.Replay {
			older, err := a.config.Queue.Older(ctx, i)
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

// obstacle says what the table of transitions and the caller's role put in the
// way of an action; "" for nothing.
func (a *api) obstacle(i *dlq.Item, action dlq.Action, who dlq.Actor) (why, hint string) {
	orphan := a.config.Catalog.Outbox(i.Outbox) == nil
	next := dlq.Next
	if orphan {
		next = dlq.NextOrphan
	}
	row, ok := next(i.Place(), action)
	if !ok {
		return unfit(i, action)
	}
	if orphan && action == dlq.Replay {
		return "the catalog has no outbox " + i.Outbox + ", so nothing would replay it", "put the outbox back into the catalog, or discard it"
	}
	if who.Role < row.By {
		return fmt.Sprintf("it needs the role %s, and you have %s", row.By, who.Role), "ask someone with the role " + row.By.String()
	}
	return "", ""
}

// unfit says why an action does nothing where the dead letter stands.
func unfit(i *dlq.Item, action dlq.Action) (why, hint string) {
	switch {
	case !dlq.Open(i.State):
		return fmt.Sprintf("it is %s already", i.State), "a note can still be added"
	case action == dlq.Authorize && i.Tier != contracts.SecurityBlock:
		return fmt.Sprintf("only %s asks for an authorization", contracts.SecurityBlock), "replay it"
	case action == dlq.Authorize && i.State == contracts.DeadAuthorized:
		return "it is authorized already, by " + i.AuthorizedBy, "replay it"
	case action == dlq.Discard && i.Tier == contracts.SafeAuto:
		return "it is replayed by itself", fmt.Sprintf("after its last automatic replay it waits for a review, under %s", contracts.ReviewRequired)
	case i.Replaying != nil:
		return "the replay that " + i.Replaying.By + " asked for has not ended", "wait for its end"
	case action == dlq.Replay && i.State == contracts.DeadBlocked:
		return "its replay was not authorized", "someone with the role security authorizes it first"
	}
	return fmt.Sprintf("it is %s under %s", i.State, i.Tier), "look at it again"
}

// secondPerson says whether somebody else has to replay it. Where the catalog
// does not know the event any more, it is taken to ask for two persons.
func (a *api) secondPerson(i *dlq.Item, who dlq.Actor) (why, hint string) {
	if i.Tier != contracts.SecurityBlock || !strings.EqualFold(i.AuthorizedBy, who.Name) {
		return "", ""
	}
	if outbox := a.config.Catalog.Outbox(i.Outbox); outbox != nil {
		if route := outbox.Route(i.EventType); route != nil && !route.TwoPersonRule {
			return "", ""
		}
	}
	return fmt.Sprintf("you authorized it, and %s asks for two persons", i.EventType), "another person replays it"
}

func names(items []*dlq.Item) string {
	ids := make([]string, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	return strings.Join(ids, ", ")
}
