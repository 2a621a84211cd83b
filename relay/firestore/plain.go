package firestore

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"outboxrelay/contracts"
)

// The fields of Firestore's Document, Value, ArrayValue and MapValue, and of an entry
// of a protobuf map.
var (
	tagName       = tagged(1, protowire.BytesType)
	tagFields     = tagged(2, protowire.BytesType)
	tagCreateTime = tagged(3, protowire.BytesType)
	tagUpdateTime = tagged(4, protowire.BytesType)

	tagBoolean   = tagged(1, protowire.VarintType)
	tagInteger   = tagged(2, protowire.VarintType)
	tagDouble    = tagged(3, protowire.Fixed64Type)
	tagMap       = tagged(6, protowire.BytesType)
	tagArray     = tagged(9, protowire.BytesType)
	tagTimestamp = tagged(10, protowire.BytesType)
	tagNull      = tagged(11, protowire.VarintType)
	tagString    = tagged(17, protowire.BytesType)
	tagBytes     = tagged(18, protowire.BytesType)

	tagElement  = tagged(1, protowire.BytesType)
	tagEntry    = tagged(1, protowire.BytesType)
	tagKey      = tagged(1, protowire.BytesType)
	tagKeyValue = tagged(2, protowire.BytesType)
)

// value is an encoded Value that is taken apart one level.
type value struct {
	kind   tag
	number uint64
	bytes  []byte
}

// entry is an encoded entry of a map.
type entry struct{ key, value []byte }

// decoder decodes documents of plain records: pending, with the fields of the
// contract alone, each of its type, and a payload that JSON can carry. All others
// are odd, which it only notices. It keeps its room from one document to the next, and
// words that many records have.
type decoder struct {
	entries []entry
	payload contracts.PayloadWriter
	words   map[string]string
	odd     bool
}

// The words that records share are few, and short.
const (
	maxWords = 256
	maxWord  = 64 // bytes
)

// decoders wait for the next document.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decodeRecord decodes an encoded Document of the outbox; nil: it is an odd one.
func decodeRecord(outbox, id string, encoded []byte) *contracts.Record {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	defer d.forget()
	d.odd, d.entries = false, d.entries[:0]
	m := message{rest: encoded}
	for t, _, b := m.next(); t != 0; t, _, b = m.next() {
		switch t {
		case tagName, tagCreateTime, tagUpdateTime: // see head
		case tagFields:
			d.entry(b)
		default:
			d.odd = true
		}
	}
	d.expect(!m.bad)
	if d.odd {
		return nil
	}
	rec := d.record(outbox, id)
	if d.odd {
		return nil
	}
	return rec
}

// forget lets go of the document that was decoded, and of room that few need.
func (d *decoder) forget() {
	clear(d.entries[:cap(d.entries)])
	if cap(d.payload.Bytes()) > keptRoom {
		d.payload = contracts.PayloadWriter{}
	}
}

// keptRoom is the largest payload whose room is kept for the next.
const keptRoom = 64 << 10

func (d *decoder) expect(sound bool) {
	if !sound {
		d.odd = true
	}
}

// record decodes the fields, which are the entries.
func (d *decoder) record(outbox, id string) *contracts.Record {
	rec := &contracts.Record{Outbox: outbox, ID: id, EventVersion: 1}
	var had fieldSet
	fields := d.entries
	for _, f := range fields {
		v := d.take(f.value)
		if d.odd {
			return nil
		}
		which := d.field(rec, string(f.key), v)
		if which == 0 || had&which != 0 {
			d.odd = true
		}
		had |= which
	}
	d.expect(had&requiredFields == requiredFields && rec.Status == contracts.Pending)
	return rec
}

// fieldSet is a set of a record's fields.
type fieldSet uint32

const (
	hasEventID fieldSet = 1 << iota
	hasEventType
	hasAggregateID
	hasAggregateVersion
	hasIdempotencyKey
	hasTraceID
	hasLane
	hasTier
	hasOccurredAt
	hasCreatedAt
	hasPayload
	hasStatus
	hasEventVersion
	hasAggregateType
	hasTraceparent
	hasProducer
	hasShard
	hasAttempts
	requiredFields = hasEventVersion - 1
)

// field sets one field of the record and says which; 0: it is an odd one.
func (d *decoder) field(rec *contracts.Record, name string, v value) fieldSet {
	switch name {
	case contracts.FieldEventID:
		rec.EventID = string(d.text(v))
		return hasEventID
	case contracts.FieldEventType:
		rec.EventType = d.word(v)
		return hasEventType
	case contracts.FieldEventVersion:
		rec.EventVersion = d.integer(v, 1)
		return hasEventVersion
	case contracts.FieldAggregateType:
		rec.AggregateType = d.word(v)
		return hasAggregateType
	case contracts.FieldAggregateID:
		rec.AggregateID = string(d.text(v))
		return hasAggregateID
	case contracts.FieldAggregateVersion:
		rec.AggregateVersion = d.integer(v, 0)
		return hasAggregateVersion
	case contracts.FieldIdempotencyKey:
		rec.IdempotencyKey = string(d.text(v))
		return hasIdempotencyKey
	case contracts.FieldTraceID:
		rec.TraceID = string(d.text(v))
		return hasTraceID
	case contracts.FieldTraceparent:
		rec.Traceparent = string(d.text(v))
		return hasTraceparent
	case contracts.FieldProducer:
		rec.Producer = d.word(v)
		return hasProducer
	case contracts.FieldLane:
		rec.Lane = contracts.Lane(d.word(v))
		return hasLane
	case contracts.FieldTier:
		rec.Tier = contracts.Tier(d.word(v))
		return hasTier
	case contracts.FieldStatus:
		rec.Status = contracts.Status(d.word(v))
		return hasStatus
	case contracts.FieldOccurredAt:
		rec.OccurredAt = d.instant(v)
		return hasOccurredAt
	case contracts.FieldCreatedAt:
		rec.CreatedAt = d.instant(v)
		return hasCreatedAt
	case contracts.FieldShard:
		shard := d.integer(v, math.MinInt64)
		rec.Shard = &shard
		return hasShard
	case contracts.FieldAttempts:
		rec.Attempts = int(d.integer(v, 0))
		return hasAttempts
	case contracts.FieldPayload:
		d.expect(v.kind == tagMap)
		d.payload.Reset()
		d.object(v.bytes, 0)
		rec.PayloadJSON = string(d.payload.Bytes())
		return hasPayload
	}
	return 0
}

// valueOf takes a Value apart. It reports false for one that is not of one kind.
func valueOf(encoded []byte) (v value, sound bool) {
	m := message{rest: encoded}
	v.kind, v.number, v.bytes = m.next()
	return v, v.kind != 0 && len(m.rest) == 0 && !m.bad
}

func (d *decoder) take(encoded []byte) value {
	v, sound := valueOf(encoded)
	d.expect(sound)
	return v
}

// entryOf takes an entry of a map apart. It reports false for one that is not whole.
func entryOf(encoded []byte) (e entry, sound bool) {
	keys, values := 0, 0
	m := message{rest: encoded}
	for t, _, b := m.next(); t != 0; t, _, b = m.next() {
		switch t {
		case tagKey:
			e.key = b
			keys++
		case tagKeyValue:
			e.value = b
			values++
		default:
			return e, false
		}
	}
	return e, !m.bad && keys == 1 && values == 1
}

// text returns a string that is still the document's.
func (d *decoder) text(v value) []byte {
	d.expect(v.kind == tagString && utf8.Valid(v.bytes))
	return v.bytes
}

// word returns a string that many records have.
func (d *decoder) word(v value) string {
	b := d.text(v)
	if s, ok := d.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if d.words == nil {
		d.words = make(map[string]string)
	}
	if len(d.words) < maxWords && len(s) <= maxWord {
		d.words[s] = s
	}
	return s
}

func (d *decoder) integer(v value, least int64) int64 {
	n := int64(v.number)
	d.expect(v.kind == tagInteger && n >= least)
	return n
}

func (d *decoder) instant(v value) time.Time {
	d.expect(v.kind == tagTimestamp)
	return d.timestamp(v.bytes)
}

func (d *decoder) timestamp(encoded []byte) time.Time {
	t, sound := timestamp(encoded)
	d.expect(sound)
	return t
}

// entry keeps an entry of a map. Keys that begin like those by which the SDK knows
// values of its own are odd.
func (d *decoder) entry(encoded []byte) {
	e, sound := entryOf(encoded)
	d.expect(sound && utf8.Valid(e.key) && !bytes.HasPrefix(e.key, []byte("__")))
	d.entries = append(d.entries, e)
}

// object writes a MapValue, which so many maps and lists are around within the
// payload.
func (d *decoder) object(encoded []byte, depth int) {
	if depth > contracts.MaxPayloadDepth {
		d.odd = true
	}
	first := len(d.entries)
	m := message{rest: encoded}
	for t, _, b := m.next(); t != 0 && !d.odd; t, _, b = m.next() {
		d.expect(t == tagEntry)
		d.entry(b)
	}
	d.expect(!m.bad)
	if d.odd {
		return
	}
	count := len(d.entries) - first
	slices.SortFunc(d.entries[first:], func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	d.payload.Mark('{')
	for i := range count {
		e := d.entries[first+i] // those of maps within come behind them, and go
		if i > 0 {
			d.expect(!bytes.Equal(e.key, d.entries[first+i-1].key))
			d.payload.Mark(',')
		}
		d.payload.Text(e.key)
		d.payload.Mark(':')
		d.write(e.value, depth+1)
	}
	d.payload.Mark('}')
	d.entries = d.entries[:first]
}

// write writes a Value of the payload.
func (d *decoder) write(encoded []byte, depth int) {
	if d.odd {
		return
	}
	switch v := d.take(encoded); v.kind {
	case tagNull:
		d.payload.Null()
	case tagBoolean:
		d.payload.Bool(v.number != 0)
	case tagInteger:
		d.payload.Int(int64(v.number))
	case tagDouble:
		f := math.Float64frombits(v.number)
		d.expect(!math.IsNaN(f) && !math.IsInf(f, 0))
		d.payload.Float(f)
	case tagString:
		d.payload.Text(d.text(v))
	case tagBytes:
		d.payload.Binary(v.bytes)
	case tagTimestamp:
		d.payload.Time(d.instant(v))
	case tagMap:
		d.object(v.bytes, depth)
	case tagArray:
		d.array(v.bytes, depth)
	default: // references, places, and what Firestore may yet invent
		d.odd = true
	}
}

func (d *decoder) array(encoded []byte, depth int) {
	if depth > contracts.MaxPayloadDepth {
		d.odd = true
	}
	m := message{rest: encoded}
	d.payload.Mark('[')
	first := true
	for t, _, b := m.next(); t != 0 && !d.odd; t, _, b = m.next() {
		d.expect(t == tagElement)
		if !first {
			d.payload.Mark(',')
		}
		first = false
		d.write(b, depth+1)
	}
	d.payload.Mark(']')
	d.expect(!m.bad)
}
