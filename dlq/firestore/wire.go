package firestore

import (
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"outboxrelay/dlq"
)

// wire puts the writes of one commit on the wire. Those of which there are many, the
// marks of delivered records, it encodes by itself, at a fifth of the memory: all
// others are protobuf's. It keeps its room from one write to the next.
type wire struct {
	encoder
	out []byte // all writes of the commit, as fields of its request

	// Of the write under way: it, its document, a value of that, and its mask.
	written, document, value, masked []byte
	names                            []string // of its fields
}

// add adds a write. A merge that says nothing is none.
func (e *wire) add(w dlq.Write) error {
	name, err := e.name(w)
	if err != nil {
		return err
	}
	if e.plain(w, name) {
		e.out = appendBytes(e.out, fieldWrites, e.written)
		return nil
	}
	message, err := e.encoder.write(w)
	if err != nil || message == nil {
		return err
	}
	e.written, err = proto.MarshalOptions{}.MarshalAppend(e.written[:0], message)
	if err != nil {
		return err
	}
	e.out = appendBytes(e.out, fieldWrites, e.written)
	return nil
}

// Numbers of fields: CommitRequest's, Write's, Document's, those of an entry of a map,
// DocumentMask's, Precondition's, Value's, ArrayValue's and Timestamp's.
const (
	fieldWrites protowire.Number = 2

	fieldUpdate   protowire.Number = 1
	fieldMask     protowire.Number = 3
	fieldCurrent  protowire.Number = 4
	fieldName     protowire.Number = 1
	fieldFields   protowire.Number = 2
	fieldKey      protowire.Number = 1
	fieldValue    protowire.Number = 2
	fieldPaths    protowire.Number = 1
	fieldExists   protowire.Number = 1
	fieldInteger  protowire.Number = 2
	fieldArray    protowire.Number = 9
	fieldInstant  protowire.Number = 10
	fieldText     protowire.Number = 17
	fieldElements protowire.Number = 1
	fieldSeconds  protowire.Number = 1
	fieldNanos    protowire.Number = 2
)

// plain encodes a write that is a mark: an unconditional update of fields of the
// types that a mark has. It reports false for any other, of which it leaves nothing.
func (e *wire) plain(w dlq.Write, name string) bool {
	if w.Op != dlq.OpUpdate || !w.IfUnchangedSince.IsZero() || len(w.Union) > 0 || len(w.Fields) == 0 || !utf8.ValidString(name) {
		return false
	}
	e.names = e.names[:0]
	for field := range w.Fields {
		if !isWord(field) {
			return false
		}
		e.names = append(e.names, field)
	}
	slices.Sort(e.names)
	e.document = appendText(e.document[:0], fieldName, name)
	e.masked = e.masked[:0]
	for _, field := range e.names {
		e.masked = appendText(e.masked, fieldPaths, field)
		if w.Fields[field] == nil {
			continue // named in the mask alone, it is deleted
		}
		if !e.plainValue(w.Fields[field]) {
			return false
		}
		e.document = protowire.AppendTag(e.document, fieldFields, protowire.BytesType)
		e.document = protowire.AppendVarint(e.document, uint64(sized(fieldKey, len(field))+sized(fieldValue, len(e.value))))
		e.document = appendText(e.document, fieldKey, field)
		e.document = appendBytes(e.document, fieldValue, e.value)
	}
	e.written = appendBytes(e.written[:0], fieldUpdate, e.document)
	e.written = appendBytes(e.written, fieldMask, e.masked)
	e.written = appendBytes(e.written, fieldCurrent, exists)
	return true
}

// exists is the precondition that a document does.
var exists = appendNumber(nil, fieldExists, protowire.EncodeBool(true))

// plainValue encodes a value of a mark. It reports false for one of another type, or
// that protobuf would refuse.
func (e *wire) plainValue(v any) bool {
	switch v := v.(type) {
	case string:
		e.value = appendText(e.value[:0], fieldText, v)
		return utf8.ValidString(v)
	case int:
		e.value = appendNumber(e.value[:0], fieldInteger, uint64(int64(v)))
	case time.Time:
		e.value = appendInstant(e.value[:0], v)
	case []string:
		if v == nil {
			return false
		}
		size := 0
		for _, s := range v {
			if !utf8.ValidString(s) {
				return false
			}
			size += sized(fieldElements, sized(fieldText, len(s)))
		}
		e.value = protowire.AppendTag(e.value[:0], fieldArray, protowire.BytesType)
		e.value = protowire.AppendVarint(e.value, uint64(size))
		for _, s := range v {
			e.value = protowire.AppendTag(e.value, fieldElements, protowire.BytesType)
			e.value = protowire.AppendVarint(e.value, uint64(sized(fieldText, len(s))))
			e.value = appendText(e.value, fieldText, s)
		}
	default:
		return false
	}
	return true
}

// appendInstant appends a Value that is a Timestamp, of which protobuf leaves out what is 0.
func appendInstant(to []byte, t time.Time) []byte {
	seconds, nanos := uint64(t.Unix()), uint64(t.Nanosecond())
	size := 0
	if seconds != 0 {
		size += protowire.SizeTag(fieldSeconds) + protowire.SizeVarint(seconds)
	}
	if nanos != 0 {
		size += protowire.SizeTag(fieldNanos) + protowire.SizeVarint(nanos)
	}
	to = protowire.AppendTag(to, fieldInstant, protowire.BytesType)
	to = protowire.AppendVarint(to, uint64(size))
	if seconds != 0 {
		to = appendNumber(to, fieldSeconds, seconds)
	}
	if nanos != 0 {
		to = appendNumber(to, fieldNanos, nanos)
	}
	return to
}

// sized is what a field of so many bytes takes with its tag and its length.
func sized(field protowire.Number, bytes int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(bytes)
}

func appendBytes(to []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), b)
}

func appendText(to []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), s)
}

func appendNumber(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}
