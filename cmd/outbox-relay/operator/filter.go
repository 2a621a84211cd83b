package operator

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// filterFlags select dead letters. Those that are given hold together.
type filterFlags struct {
	EventID    string `name:"event-id" placeholder:"ID" help:"Of this event."`
	EventType  string `placeholder:"TYPE" help:"Of this event type."`
	TraceID    string `name:"trace-id" placeholder:"ID" help:"Of this trace."`
	Aggregate  string `placeholder:"ID" help:"Of this aggregate."`
	Tier       string `placeholder:"TIER" help:"SAFE_AUTO, REVIEW_REQUIRED or SECURITY_BLOCK."`
	State      string `placeholder:"STATE" help:"scheduled, awaiting_review, blocked, authorized, replayed or discarded."`
	Outbox     string `placeholder:"NAME" help:"Of this outbox."`
	Lane       string `placeholder:"LANE" help:"CRITICAL_LANE, STANDARD_LANE or BACKGROUND_LANE."`
	DeadReason string `placeholder:"REASON" help:"ATTEMPTS_EXHAUSTED, CONTRACT_VIOLATION, PERMANENT_FAILURE, CLAIMS_REFRESH_FAILED or RESTORED."`
	Group      string `placeholder:"ID" help:"Of this group, as dlq groups lists them."`
	Consumer   string `placeholder:"NAME" help:"Of this consumer, which could not handle the event."`
	From       when   `placeholder:"TIME" help:"Dead since: a time in RFC 3339, or a duration back from now such as 2h."`
	To         when   `placeholder:"TIME" help:"Dead before, likewise."`
}

func (f filterFlags) filter() dlq.Filter {
	return dlq.Filter{
		EventID: f.EventID, EventType: f.EventType, TraceID: f.TraceID, AggregateID: f.Aggregate,
		Tier: contracts.Tier(f.Tier), State: contracts.DeadState(f.State), Outbox: f.Outbox, Lane: contracts.Lane(f.Lane),
		Reason: contracts.Reason(f.DeadReason), Group: f.Group, Consumer: f.Consumer, From: f.From.Time, To: f.To.Time,
	}
}

// filterQuery renders a filter as the query parameters of its JSON names.
func filterQuery(f dlq.Filter) (url.Values, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	query := url.Values{}
	for name, value := range fields {
		query.Set(name, fmt.Sprint(value))
	}
	return query, nil
}

// when is a time on the command line: RFC 3339, or a duration back from now.
type when struct{ time.Time }

// UnmarshalText reads it.
func (w *when) UnmarshalText(text []byte) error {
	if back, err := time.ParseDuration(string(text)); err == nil {
		w.Time = time.Now().Add(-back).UTC()
		return nil
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a time in RFC 3339 nor a duration such as 2h", text)
	}
	w.Time = t
	return nil
}

// query is the time as a query parameter; "" for none.
func (w when) query() string {
	if w.IsZero() {
		return ""
	}
	return w.Format(time.RFC3339Nano)
}
