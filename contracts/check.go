package contracts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Checked is what the catalog says about one record.
type Checked struct {
	Route  *EventRoute // nil when the outbox does not declare the event type
	Lane   Lane        // to run in; always valid
	Tier   Tier        // of its dead letter; always valid
	Faults Faults      // every breach of the contract; a record with one is not attempted
	// Disagreements names what record and catalog differ in, where the catalog
	// wins: DisagreementLane, DisagreementTier, or both.
	Disagreements []string
	Data          []byte // the envelope; nil when there are faults
}

// Names of disagreements, fit for a metric label.
const (
	DisagreementLane = "lane"
	DisagreementTier = "tier"
)

// Disagreements lists every name that Checked.Disagreements can hold.
func Disagreements() []string { return []string{DisagreementLane, DisagreementTier} }

// Check judges rec by the contract and by what its outbox declares. decoded is
// what DecodeRecord found; it comes first in Checked.Faults, and a field that
// is named there is not judged again. An absent producer is filled in with the
// outbox's slice.
func (c *Catalog) Check(rec *Record, decoded Faults) Checked {
	j := judge{rec: rec, decoded: decoded}
	o := c.Outbox(rec.Outbox)
	if o == nil {
		j.fault("", "lies in outbox "+quoted(rec.Outbox)+", which the catalog does not declare")
	} else {
		if rec.Producer == "" {
			rec.Producer = o.Slice
		}
		if rec.EventType != "" { // which a pattern would match
			j.find(o)
		}
	}
	j.identity()
	j.attributes()
	j.event(o)
	j.classes()
	j.shard(o)
	j.templates(j.payload())

	out := Checked{Route: j.route, Lane: j.lane(), Disagreements: j.disagreements()}
	if len(decoded) == 0 && len(j.faults) == 0 {
		out.Data = j.envelope()
	}
	if len(decoded)+len(j.faults) > 0 {
		out.Faults = slices.Concat(decoded, j.faults)
	}
	out.Tier = j.tier(len(out.Faults) > 0)
	return out
}

// judge collects the faults of one record.
type judge struct {
	rec     *Record
	route   *EventRoute
	known   bool // the catalog declares the record's version of it
	holds   bool // its schema and templates are to be kept to
	decoded Faults
	faults  Faults
	size    int // of the payload as JSON, roughly
}

// find looks up the record's route: that of its version, or where the catalog does not
// declare that, the newest, for lane and tier. What else is wrong with such a record is
// told only where there is no other version that it could be meant for.
func (j *judge) find(o *Outbox) {
	j.route = o.RouteOf(j.rec.EventType, j.rec.EventVersion)
	j.known, j.holds = j.route != nil, j.route != nil
	if !j.known {
		j.route = o.Route(j.rec.EventType)
		j.holds = len(o.Versions(j.rec.EventType)) == 1
	}
}

func (j *judge) fault(field, problem string) { j.faults = append(j.faults, Fault{field, problem}) }

// sound reports that DecodeRecord found nothing wrong with any of the fields,
// so that their values can be judged.
func (j *judge) sound(fields ...string) bool {
	for _, f := range j.decoded {
		if slices.Contains(fields, f.Field) {
			return false
		}
	}
	return true
}

// identity judges the fields by which consumers recognise and order records.
func (j *judge) identity() {
	r := j.rec
	if j.sound(FieldEventID) && !isUUID(r.EventID) {
		j.fault(FieldEventID, "is not a UUID")
	}
	if j.sound(FieldAggregateID) && r.AggregateID == "" {
		j.fault(FieldAggregateID, "is empty")
	}
	if (!j.holds || j.route.Key == "") && j.sound(FieldEventID, FieldAggregateID, FieldAggregateVersion, FieldIdempotencyKey) &&
		!isIdempotencyKey(r.IdempotencyKey, r.EventID, r.AggregateID, r.AggregateVersion) {
		j.fault(FieldIdempotencyKey, "is not "+string(DefaultKey))
	}
	if j.sound(FieldTraceID) && r.TraceID == "" {
		j.fault(FieldTraceID, "is empty")
	}
	if j.sound(FieldAggregateVersion) && r.AggregateVersion < 0 {
		j.fault(FieldAggregateVersion, fmt.Sprintf("is %d, want 0 or more", r.AggregateVersion))
	}
	if j.sound(FieldOccurredAt) && !jsonTime(r.OccurredAt) {
		j.fault(FieldOccurredAt, "is outside the years 0 to 9999")
	}
}

// tooLong is the fault of a text that does not fit into an attribute.
func tooLong(text string) string {
	return fmt.Sprintf("is %d bytes long, want %d at most", len(text), MaxAttributeBytes)
}

// attributes judges what Pub/Sub takes as attribute or ordering key. A
// traceparent is not looked into: W3C says to pass on or ignore a bad one.
func (j *judge) attributes() {
	r := j.rec
	for _, a := range [...]struct{ field, value string }{
		{FieldEventID, r.EventID},
		{FieldEventType, r.EventType},
		{FieldAggregateID, r.AggregateID},
		{FieldIdempotencyKey, r.IdempotencyKey},
		{FieldTraceID, r.TraceID},
		{FieldTraceparent, r.Traceparent},
		{FieldProducer, r.Producer},
	} {
		if len(a.value) > MaxAttributeBytes {
			j.fault(a.field, tooLong(a.value))
		}
		if !utf8.ValidString(a.value) {
			j.fault(a.field, "is not valid UTF-8")
		}
	}
}

// event judges type and version by what the outbox declares.
func (j *judge) event(o *Outbox) {
	r := j.rec
	switch {
	case !j.sound(FieldEventType):
	case r.EventType == "":
		j.fault(FieldEventType, "is empty")
	case j.route == nil && o != nil:
		j.fault(FieldEventType, "is "+quoted(r.EventType)+", which "+o.Name+" does not declare")
	}
	switch {
	case !j.sound(FieldEventVersion):
	case r.EventVersion < 1:
		j.fault(FieldEventVersion, fmt.Sprintf("is %d, want 1 or more", r.EventVersion))
	case j.route != nil && !j.known:
		var declared []string
		for _, v := range o.Versions(r.EventType) {
			declared = append(declared, strconv.FormatInt(v.Version, 10))
		}
		j.fault(FieldEventVersion, fmt.Sprintf("is %d, want %s as the catalog declares", r.EventVersion, strings.Join(declared, " or ")))
	}
}

// classes judges lane, tier and status, each one of a few words.
func (j *judge) classes() {
	r := j.rec
	if j.sound(FieldLane) && !r.Lane.Valid() {
		j.fault(FieldLane, "is "+quoted(string(r.Lane))+", want one of "+joined(Lanes()))
	}
	if j.sound(FieldTier) && !r.Tier.Valid() {
		j.fault(FieldTier, "is "+quoted(string(r.Tier))+", want one of "+joined(Tiers()))
	}
	if j.sound(FieldStatus) && !r.Status.Valid() {
		j.fault(FieldStatus, "is "+quoted(string(r.Status))+", want one of "+joined(Statuses()))
	}
}

// payload judges whether JSON can carry the payload, and what its schema says
// of one that JSON can. It returns the payload as far as it was read, and whether
// no fault was found in it.
func (j *judge) payload() (payload any, sound bool) {
	if !j.sound(FieldPayload) {
		return nil, false
	}
	if j.rec.PayloadJSON != "" {
		j.size = len(j.rec.PayloadJSON)
		if !j.holds || j.route.Schema == nil && !j.route.Key.readsPayload() && !j.route.Aggregate.readsPayload() {
			return nil, true
		}
		var err error
		if payload, err = readPayload(j.rec.PayloadJSON); err != nil {
			j.fault(FieldPayload, "cannot be read: "+err.Error())
			return nil, false
		}
		return payload, j.schema(payload)
	}
	if j.rec.Payload == nil {
		j.fault(FieldPayload, "is missing")
		return nil, false
	}
	scan := scanPayload(j.rec.Payload)
	j.size = scan.size
	j.faults = append(j.faults, scan.faults...)
	if len(scan.faults) > 0 || !j.holds {
		return nil, false
	}
	payload = j.rec.Payload
	if scan.foreign && j.route.Schema != nil {
		payload = jsonForm(payload)
	}
	return payload, j.schema(payload)
}

// schema judges the payload in its JSON form. It reports whether there is no fault
// in it.
func (j *judge) schema(payload any) bool {
	if j.route.Schema == nil {
		return true
	}
	faults := schemaFaults(j.route.Schema, payload)
	j.faults = append(j.faults, faults...)
	return len(faults) == 0
}

// templates judges the fields that the catalog says how to make, of a record whose
// payload is sound: what they are made of is not to blame then.
func (j *judge) templates(payload any, sound bool) {
	if !sound || !j.holds {
		return
	}
	for _, m := range [...]struct {
		field, value string
		template     KeyTemplate
	}{
		{FieldAggregateID, j.rec.AggregateID, j.route.Aggregate},
		{FieldIdempotencyKey, j.rec.IdempotencyKey, j.route.Key},
	} {
		if m.template == "" || !j.sound(append(keyFields, m.field)...) {
			continue
		}
		want, faults := m.template.fill(j.rec, payload)
		j.faults = append(j.faults, faults...)
		if len(faults) == 0 && (m.value != want || want == "") {
			j.fault(m.field, "is not "+string(m.template))
		}
	}
}

// envelope returns the record's envelope, unless the message would be larger
// than Pub/Sub takes.
func (j *judge) envelope() []byte {
	data := encodeEnvelope(j.rec, j.size)
	if size := messageSize(j.rec, data, j.route); size > MaxMessageBytes {
		j.fault("", fmt.Sprintf("makes a message of %d bytes, want %d at most", size, MaxMessageBytes))
		return nil
	}
	return data
}

// lane returns the lane to run in: the catalog's word, else the record's own.
func (j *judge) lane() Lane {
	switch {
	case j.route != nil:
		return j.route.Lane
	case j.rec.Lane.Valid():
		return j.rec.Lane
	}
	return StandardLane
}

// tier returns the tier of the record's dead letter. One that breaks the
// contract gets REVIEW_REQUIRED at the mildest.
func (j *judge) tier(faulty bool) Tier {
	t := ReviewRequired
	switch {
	case j.route != nil:
		t = j.route.Tier
	case j.rec.Tier.Valid():
		t = j.rec.Tier
	}
	if faulty {
		t = t.Stricter(ReviewRequired)
	}
	return t
}

func (j *judge) disagreements() []string {
	if j.route == nil {
		return nil
	}
	var out []string
	if j.rec.Lane.Valid() && j.rec.Lane != j.route.Lane {
		out = append(out, DisagreementLane)
	}
	if j.rec.Tier.Valid() && j.rec.Tier != j.route.Tier {
		out = append(out, DisagreementTier)
	}
	return out
}

// isUUID reports whether s is a UUID in its canonical form: 36 characters,
// hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// isIdempotencyKey is key == IdempotencyKey(...) without building it.
func isIdempotencyKey(key, eventID, aggregateID string, aggregateVersion int64) bool {
	var digits [20]byte
	version := strconv.AppendInt(digits[:0], aggregateVersion, 10)
	n := len(eventID)
	m := n + 1 + len(aggregateID)
	return len(key) == m+1+len(version) &&
		key[:n] == eventID && key[n] == ':' &&
		key[n+1:m] == aggregateID && key[m] == ':' &&
		key[m+1:] == string(version)
}
