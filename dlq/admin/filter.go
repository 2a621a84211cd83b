package admin

import (
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// FilterQuery selects dead letters by query parameters.
type FilterQuery struct {
	EventID     string              `query:"eventId" maxLength:"1500" example:"7f0c" doc:"Those of this event."`
	EventType   string              `query:"eventType" maxLength:"1500" example:"WalletDeducted" doc:"Those of events of this type."`
	TraceID     string              `query:"traceId" maxLength:"1500" example:"trace-1" doc:"Those of this trace."`
	AggregateID string              `query:"aggregateId" maxLength:"1500" example:"acc-1" doc:"Those of this aggregate."`
	Tier        contracts.Tier      `query:"tier" enum:"SAFE_AUTO,REVIEW_REQUIRED,SECURITY_BLOCK" doc:"Those under this tier now."`
	State       contracts.DeadState `query:"state" enum:"scheduled,awaiting_review,blocked,authorized,replayed,discarded" doc:"Those in this state."`
	Outbox      string              `query:"outbox" maxLength:"1500" example:"accOutbox" doc:"Those of this outbox."`
	Lane        contracts.Lane      `query:"lane" enum:"CRITICAL_LANE,STANDARD_LANE,BACKGROUND_LANE" doc:"Those of this lane."`
	Reason      contracts.Reason    `query:"reason" enum:"ATTEMPTS_EXHAUSTED,CONTRACT_VIOLATION,PERMANENT_FAILURE,CLAIMS_REFRESH_FAILED,RESTORED" doc:"Those dead-lettered for this reason."`
	Group       string              `query:"group" maxLength:"1500" doc:"Those of this group; see GET /dlq/groups."`
	Consumer    string              `query:"consumer" maxLength:"1500" example:"notifications" doc:"Those of this consumer, which could not handle the event; the relay's own dead letters have none."`
	Open        string              `query:"open" enum:"true,false" doc:"true: those neither replayed nor discarded; false: the others; left out: all."`
	From        time.Time           `query:"from" example:"2026-03-01T00:00:00Z" doc:"Those dead-lettered at this time or later."`
	To          time.Time           `query:"to" example:"2026-03-02T00:00:00Z" doc:"Those dead-lettered before this time."`
}

func (q FilterQuery) filter() dlq.Filter {
	f := dlq.Filter{
		EventID: q.EventID, EventType: q.EventType, TraceID: q.TraceID, AggregateID: q.AggregateID, Tier: q.Tier, State: q.State,
		Outbox: q.Outbox, Lane: q.Lane, Reason: q.Reason, Group: q.Group, Consumer: q.Consumer, From: q.From, To: q.To,
	}
	if q.Open != "" {
		f.Open = new(q.Open == "true")
	}
	return f
}

// Filter selects dead letters in a body. The fields hold together; one that is
// left out does not narrow.
type Filter struct {
	EventID     string              `json:"eventId,omitempty" minLength:"1" maxLength:"1500" doc:"Those of this event."`
	EventType   string              `json:"eventType,omitempty" minLength:"1" maxLength:"1500" example:"WalletDeducted" doc:"Those of events of this type."`
	TraceID     string              `json:"traceId,omitempty" minLength:"1" maxLength:"1500" doc:"Those of this trace."`
	AggregateID string              `json:"aggregateId,omitempty" minLength:"1" maxLength:"1500" doc:"Those of this aggregate."`
	Tier        contracts.Tier      `json:"tier,omitempty" enum:"SAFE_AUTO,REVIEW_REQUIRED,SECURITY_BLOCK" doc:"Those under this tier now."`
	State       contracts.DeadState `json:"state,omitempty" enum:"scheduled,awaiting_review,blocked,authorized,replayed,discarded" doc:"Those in this state."`
	Outbox      string              `json:"outbox,omitempty" minLength:"1" maxLength:"1500" example:"accOutbox" doc:"Those of this outbox."`
	Lane        contracts.Lane      `json:"lane,omitempty" enum:"CRITICAL_LANE,STANDARD_LANE,BACKGROUND_LANE" doc:"Those of this lane."`
	Reason      contracts.Reason    `json:"reason,omitempty" enum:"ATTEMPTS_EXHAUSTED,CONTRACT_VIOLATION,PERMANENT_FAILURE,CLAIMS_REFRESH_FAILED,RESTORED" doc:"Those dead-lettered for this reason."`
	Group       string              `json:"group,omitempty" minLength:"1" maxLength:"1500" doc:"Those of this group; see GET /dlq/groups."`
	Consumer    string              `json:"consumer,omitempty" minLength:"1" maxLength:"1500" example:"notifications" doc:"Those of this consumer, which could not handle the event."`
	Open        *bool               `json:"open,omitempty" doc:"true: those neither replayed nor discarded."`
	From        time.Time           `json:"from,omitzero" example:"2026-03-01T00:00:00Z" doc:"Those dead-lettered at this time or later."`
	To          time.Time           `json:"to,omitzero" example:"2026-03-02T00:00:00Z" doc:"Those dead-lettered before this time."`
}

func (f Filter) filter() dlq.Filter { return dlq.Filter(f) }

func filterOf(f dlq.Filter) Filter { return Filter(f) }
