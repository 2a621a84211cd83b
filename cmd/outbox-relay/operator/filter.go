package operator

import (
	"encoding/json"
	"fmt"
	"net/url"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// filterFlags select dead letters. Those that are given hold together.
type filterFlags struct {
	EventID    word       `name:"event-id" placeholder:"ID" help:"Of this event."`
	EventType  word       `placeholder:"TYPE" help:"Of this event type."`
	TraceID    word       `name:"trace-id" placeholder:"ID" help:"Of this trace."`
	Aggregate  word       `placeholder:"ID" help:"Of this aggregate."`
	Tier       tier       `placeholder:"TIER" help:"SAFE_AUTO, REVIEW_REQUIRED or SECURITY_BLOCK."`
	State      state      `placeholder:"STATE" help:"scheduled, awaiting_review, blocked, authorized, replayed or discarded."`
	Outbox     word       `placeholder:"NAME" help:"Of this outbox."`
	Lane       lane       `placeholder:"LANE" help:"CRITICAL_LANE, STANDARD_LANE or BACKGROUND_LANE."`
	DeadReason deadReason `placeholder:"REASON" help:"ATTEMPTS_EXHAUSTED, CONTRACT_VIOLATION, PERMANENT_FAILURE, CLAIMS_REFRESH_FAILED or RESTORED."`
	Group      word       `placeholder:"ID" help:"Of this group, as dlq groups lists them."`
	Consumer   word       `placeholder:"NAME" help:"Of this consumer, which could not handle the event."`
	From       when       `placeholder:"TIME" help:"Dead since: a time in RFC 3339 or as it is printed here, or back from now, such as 2h or 3d."`
	To         when       `placeholder:"TIME" help:"Dead before, likewise."`
}

func (f filterFlags) filter() dlq.Filter {
	return dlq.Filter{
		EventID: string(f.EventID), EventType: string(f.EventType), TraceID: string(f.TraceID), AggregateID: string(f.Aggregate),
		Tier: contracts.Tier(f.Tier), State: contracts.DeadState(f.State), Outbox: string(f.Outbox), Lane: contracts.Lane(f.Lane),
		Reason: contracts.Reason(f.DeadReason), Group: string(f.Group), Consumer: string(f.Consumer), From: f.From.Time, To: f.To.Time,
	}
}

// query renders the filter as the query parameters of its JSON names. It leaves closed
// dead letters out, unless they or those of a state are asked for.
func (f filterFlags) query(closed bool) (url.Values, error) {
	if err := inOrder(f.From, f.To); err != nil {
		return nil, shell.Usagef("%w", err)
	}
	filter := f.filter()
	if !closed && filter.State == "" {
		filter.Open = new(true)
	}
	data, err := json.Marshal(filter)
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

// word is the value of a flag that narrows.
type word string

// UnmarshalText reads it.
func (w *word) UnmarshalText(text []byte) error { return once(w, text) }
