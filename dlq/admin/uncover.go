package admin

import (
	"context"
	"net/http"

	"outboxrelay/dlq"
)

// Uncovered is the whole record of a dead letter whose payload is covered.
type Uncovered struct {
	ID            string         `json:"id" example:"7f0c:acc-1:3" doc:"The dead letter."`
	Record        map[string]any `json:"record" doc:"The outbox record as it stood."`
	RecordTrimmed bool           `json:"recordTrimmed,omitempty" doc:"The copy lacks its payload: it stands in the outbox document, and in envelope where the copy has that."`
	Decision      Decision       `json:"decision" doc:"The audit entry of this look."`
}

type uncoverInput struct {
	ID   string `path:"id" example:"7f0c:acc-1:3" doc:"The dead letter's ID, percent-encoded: a % in it becomes %25. Those named count, groups, named and summary, which stand for something else under /dlq, are written %2563ount, %2567roups, %256Eamed and %2573ummary."`
	Body Why
}

// uncovers adds the one operation that shows a covered payload.
func (a *api) uncovers() {
	register(a, route{
		method: http.MethodPost, path: "/dlq/{id}/uncover", role: dlq.Security, name: "uncover-dead-letter", tag: tagDeadLetters,
		summary: "See the payload of a SECURITY_BLOCK one", description: "The look is an audit entry, written before the record is answered; what cannot be audited is not shown. " +
			"Nothing else changes, and the next GET is covered again.",
		also: []int{http.StatusNotFound, http.StatusConflict},
	}, a.uncover)
}

func (a *api) uncover(ctx context.Context, in *uncoverInput) (*output[Uncovered], error) {
	u, err := a.config.Letters.Uncover(ctx, dlq.NamedLetter(in.ID), actor(ctx), in.Body.Reason)
	if err != nil {
		return nil, err
	}
	about(ctx, u.Item.TraceID)
	return &output[Uncovered]{Uncovered{
		ID: u.Item.ID, Record: wholeRecord(u.Item), RecordTrimmed: u.Item.RecordTrimmed,
		Decision: Decision{u.Entry.ID, dlq.Action(u.Entry.Action), u.Entry.Actor, u.Entry.At, u.Entry.Reason},
	}}, nil
}
