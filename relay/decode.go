package relay

import (
	"errors"
	"maps"
	"math"

	"outboxrelay/contracts"
)

// decode decodes and judges a document. One that takes the program down breaks
// the contract, and says so: its lane goes on, and it is found in the dead-letter
// queue.
func (o *outbox) decode(d Doc) (rec *contracts.Record, checked contracts.Checked) {
	err := o.guard.do(partDecode, func() error {
		var plain bool
		if rec, checked, plain = o.decodePlain(d); plain {
			return nil
		}
		fields, undecodable := d.decoded()
		var faults contracts.Faults
		rec, faults = contracts.DecodeRecord(o.spec.Name, d.ID, fields)
		if undecodable != nil {
			rec.Payload = nil
			faults = append(contracts.Faults{{Problem: undecodable.Error()}}, faults...)
		}
		rec.Attempts = min(rec.Attempts, math.MaxInt32) // a record may come with any number, and one more must not be less
		checked = o.catalog.Check(rec, faults)
		return nil
	})
	if err == nil {
		return rec, checked
	}
	if rec == nil {
		rec = &contracts.Record{Outbox: o.spec.Name, ID: d.ID, CreatedAt: d.CreatedAt}
	}
	return rec, o.unjudged(rec, err)
}

// decodePlain judges a plain record. It reports false for one that is not, or that
// breaks the contract, of which the fields tell more.
func (o *outbox) decodePlain(d Doc) (*contracts.Record, contracts.Checked, bool) {
	if d.Content == nil {
		return nil, contracts.Checked{}, false
	}
	rec := d.Record()
	if rec == nil {
		return nil, contracts.Checked{}, false
	}
	rec.Attempts = min(rec.Attempts, math.MaxInt32)
	checked := o.catalog.Check(rec, nil)
	return rec, checked, len(checked.Faults) == 0
}

// unjudged is what is said of a record that cannot be judged.
func (o *outbox) unjudged(rec *contracts.Record, err error) contracts.Checked {
	checked := contracts.Checked{
		Lane: contracts.BackgroundLane, Tier: contracts.ReviewRequired,
		Faults: contracts.Faults{{Problem: "cannot be judged: " + err.Error()}},
	}
	tier := rec.Tier
	if route := o.spec.Route(rec.EventType); route != nil && rec.EventType != "" {
		checked.Route, checked.Lane = route, route.Lane
		if route.Tier == contracts.SecurityBlock {
			tier = route.Tier
		}
	}
	if tier == contracts.SecurityBlock {
		checked.Tier = tier
	}
	return checked
}

// decoded decodes a document's fields. Where that panics, as the SDK does over a
// value that it does not know, it returns those that can be decoded and why the
// others cannot.
func (d Doc) decoded() (fields map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fields, err = d.parts(), errors.New("cannot be decoded: panic: "+contracts.PanicText(p))
		}
	}()
	return d.Fields(), nil
}

// fields are the document's, or those of them that can be decoded.
func (d Doc) fields() map[string]any {
	fields, _ := d.decoded()
	return fields
}

// raw is a copy of the document. One that cannot be decoded as a whole is without
// a payload.
func (d Doc) raw() (raw map[string]any, whole bool) {
	defer func() {
		if p := recover(); p != nil {
			raw, whole = maps.Clone(d.parts()), false
			delete(raw, contracts.FieldPayload)
		}
	}()
	return d.Raw(), true
}

func (d Doc) parts() map[string]any {
	if d.Content == nil {
		return map[string]any{}
	}
	return d.Parts()
}
