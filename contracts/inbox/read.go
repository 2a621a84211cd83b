package inbox

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"outboxrelay/contracts"
)

// read judges the message before anything is claimed. It returns why its event cannot
// be handled; nil: it can, or is for others.
func (d *delivery) read() contracts.Faults {
	err := d.decode()
	m := d.message
	d.log = d.opts.Log.With("consumer", d.consumer, "eventId", m.Attributes[contracts.AttrEventID], "traceId", m.Attributes[contracts.AttrTraceID])
	if err != nil {
		return contracts.Faults{{Problem: err.Error()}}
	}
	rec, faults, err := contracts.DecodeEnvelope(m.Data, m.Attributes)
	if err != nil {
		return contracts.Faults{{Problem: err.Error()}}
	}
	d.record = rec
	d.log = d.opts.Log.With("consumer", d.consumer, "eventId", rec.EventID, "eventType", rec.EventType, "traceId", rec.TraceID)
	d.ask = Ask{
		Ref: Ref{Consumer: d.consumer, EventID: rec.EventID}, AggregateID: rec.AggregateID, Version: rec.AggregateVersion,
		Lease: d.opts.lease(), Keep: d.opts.keep(), Replay: m.Attributes[contracts.AttrConsumer] == d.consumer,
	}
	if len(faults) == 0 && d.opts.Catalog != nil {
		faults = d.opts.Catalog.CheckReceived(rec)
		if d.others = !d.opts.Catalog.Concerns(d.consumer, rec); d.others {
			return nil
		}
	}
	if known, ok := d.opts.Versions[rec.EventType]; ok && len(faults) == 0 && !slices.Contains(known, rec.EventVersion) {
		faults = contracts.Faults{{Field: "event_version", Problem: fmt.Sprintf("is %d, which %s does not understand", rec.EventVersion, d.consumer)}}
	}
	if len(faults) > 0 {
		return faults
	}
	var body map[string]json.RawMessage // and no Envelope, which would take payload of Payload as well
	if err := json.Unmarshal(m.Data, &body); err != nil {
		return contracts.Faults{{Problem: err.Error()}}
	}
	d.event = &Event{Attributes: m.Attributes, Envelope: contracts.Envelope{
		EventID: rec.EventID, EventName: rec.EventType, EventVersion: rec.EventVersion, OccurredAt: rec.OccurredAt, Producer: rec.Producer, TraceID: rec.TraceID,
		IdempotencyKey: rec.IdempotencyKey, AggregateID: rec.AggregateID, AggregateVersion: rec.AggregateVersion, Payload: body["payload"],
	}}
	return nil
}

// claimable reports whether a message that breaks the contract says which event of which aggregate it is. Then
// it is claimed before it is buried: the event may have failed before, when it was not refused yet, and
// what stands behind it waits for its end.
func (d *delivery) claimable() bool {
	return d.opts.DeadLetters != nil && d.record != nil && !slices.ContainsFunc(d.faults, func(f contracts.Fault) bool {
		return f.Field == "event_id" || f.Field == "aggregate_id" || f.Field == "aggregate_version"
	})
}

// decode brings the message into the relay's form, as far as it goes. A Decode that panics refuses it: the
// process would end, and the message come to the next one.
func (d *delivery) decode() (err error) {
	if d.opts.Decode == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic of Options.Decode: %s\n%s", contracts.PanicText(p), debug.Stack())
		}
	}()
	d.message.Data, d.message.Attributes, err = d.opts.Decode(d.message.Data, d.message.Attributes)
	return err
}
