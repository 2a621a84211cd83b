package admin

import (
	"context"
	"net/http"

	"outboxrelay/dlq"
)

// Why is the body of a decision.
type Why struct {
	Reason string `json:"reason" minLength:"1" maxLength:"1000" example:"the consumer was mended" doc:"Why, for those who read the audit: 1 to 1000 bytes, spaces around it apart."`
}

// Decided is what a decision came to.
type Decided struct {
	Item     DeadLetter `json:"item" doc:"The dead letter as it stands now."`
	Decision Decision   `json:"decision" doc:"The decision, under the ID of its audit entry."`
	Order    *OrderNote `json:"order,omitempty" doc:"What a replay does to the order of its aggregate."`
}

// OrderNote says which records of the aggregate were delivered since.
type OrderNote struct {
	DeliveredSince int    `json:"deliveredSince" example:"2" doc:"Later versions that were delivered already."`
	AtLeast        bool   `json:"atLeast,omitempty" doc:"There may be more than that."`
	Message        string `json:"message" example:"2 later versions of the aggregate were delivered since: its targets see this one after them" doc:"The same in words."`
}

type decisionInput struct {
	ID      string `path:"id" example:"7f0c:acc-1:3" doc:"The dead letter's ID, percent-encoded: a % in it becomes %25. Those named count, groups, named and summary, which stand for something else under /dlq, are written %2563ount, %2567roups, %256Eamed and %2573ummary."`
	IfMatch string `header:"If-Match" example:"\"1d3k\"" doc:"The ETag of what the caller looked at. The decision is refused (412) when it was changed since."`
	Body    Why
}

type decisionOutput struct {
	ETag string `header:"ETag" doc:"Of the dead letter as it stands now."`
	Body Decided
}

// decisions adds the operations that decide about one dead letter.
func (a *api) decisions() {
	errs := []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed}
	add := func(action dlq.Action, path string, role dlq.Role, status int, summary, description string) {
		register(a, route{
			method: http.MethodPost, path: "/dlq/{id}/" + path, role: role, name: string(action) + "-dead-letter", tag: tagDeadLetters,
			summary: summary, description: description, status: status, also: errs,
		}, func(ctx context.Context, in *decisionInput) (*decisionOutput, error) {
			return a.decide(ctx, action, in)
		})
	}
	add(dlq.Replay, "replay", dlq.Operator, http.StatusAccepted, "Ask for a replay",
		"It is delivered to the targets that lack it, through its lane, as soon as the relay comes to it; lastReplay tells how that ended. "+
			"A SECURITY_BLOCK one must be authorized first, and where its event asks for two persons, by another one. "+
			"An older open dead letter of its aggregate comes first: until then this is refused.")
	add(dlq.Discard, "discard", dlq.Operator, http.StatusOK, "Give it up",
		"It will not be delivered, not by a replay that was asked for either. A SECURITY_BLOCK one needs the role security. "+
			"A delivery that is under way at this moment comes to its end: then it is replayed after all.")
	add(dlq.Authorize, "authorize", dlq.Security, http.StatusOK, "Allow its replay",
		"Of a SECURITY_BLOCK one. The replay itself is asked for apart.")
	add(dlq.Withdraw, "withdraw", dlq.Operator, http.StatusOK, "Take its replay back",
		"What was asked for and has not ended is not delivered any more: the dead letter waits for a review again. "+
			"A SECURITY_BLOCK one is blocked again, with or without a replay that was asked for, and needs the role security. "+
			"A delivery that is under way at this moment comes to its end, which the dead letter then tells of.")
	add(dlq.Note, "notes", dlq.Operator, http.StatusOK, "Write something down",
		"It becomes part of its history and of the audit, and changes nothing else.")
}

func (a *api) decide(ctx context.Context, action dlq.Action, in *decisionInput) (*decisionOutput, error) {
	saw, err := seen(in.IfMatch)
	if err != nil {
		return nil, err
	}
	d, err := a.config.Letters.Decide(ctx, dlq.NamedLetter(in.ID), dlq.Decide{Action: action, Actor: actor(ctx), Reason: in.Body.Reason, Seen: saw})
	if err != nil {
		return nil, err
	}
	about(ctx, d.Item.TraceID)
	out := &decisionOutput{ETag: etag(d.Item.UpdateTime), Body: Decided{Item: deadLetterOf(d.Item), Decision: decisionOf(d, action)}}
	out.Body.Order = orderNoteOf(d.Order)
	return out, nil
}

// orderNoteOf is nil for none.
func orderNoteOf(o *dlq.OrderNote) *OrderNote {
	if o == nil {
		return nil
	}
	return &OrderNote{o.DeliveredSince, o.AtLeast, o.Message}
}

// decisionOf is the decision that was made. Its entry is missing where it stood
// already when it was looked for: the item tells of it then.
func decisionOf(d *dlq.Decided, action dlq.Action) Decision {
	if e := d.Entry; e != nil {
		return Decision{e.ID, action, e.Actor, e.At, e.Reason}
	}
	if n := len(d.Item.Decisions); n > 0 {
		x := d.Item.Decisions[n-1]
		return Decision{x.ID, x.Action, x.By, x.At, x.Reason}
	}
	return Decision{Action: action}
}
