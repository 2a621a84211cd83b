package firestore

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message walks over the fields of an encoded protobuf message.
type message struct {
	rest []byte
	bad  bool // cannot be read on
}

// tag is a field's number with the type of what follows it, as it is encoded.
type tag uint64

func tagged(field protowire.Number, kind protowire.Type) tag {
	return tag(protowire.EncodeTag(field, kind))
}

// next returns the field that comes next, with a value of its type; 0 at the end.
func (m *message) next() (t tag, number uint64, bytes []byte) {
	if m.bad || len(m.rest) == 0 {
		return 0, 0, nil
	}
	field, kind, n := protowire.ConsumeTag(m.rest)
	if n < 0 {
		m.bad = true
		return 0, 0, nil
	}
	m.rest = m.rest[n:]
	switch kind {
	case protowire.VarintType:
		number, n = protowire.ConsumeVarint(m.rest)
	case protowire.Fixed64Type:
		number, n = protowire.ConsumeFixed64(m.rest)
	case protowire.BytesType:
		bytes, n = protowire.ConsumeBytes(m.rest)
	case protowire.Fixed32Type, protowire.StartGroupType, protowire.EndGroupType: // Firestore has none
		n = -1
	default:
		n = -1
	}
	if n < 0 {
		m.bad = true
		return 0, 0, nil
	}
	m.rest = m.rest[n:]
	return tagged(field, kind), number, bytes
}

// The limits of a protobuf Timestamp: the years 1 to 9999.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

var (
	tagSeconds = tagged(1, protowire.VarintType)
	tagNanos   = tagged(2, protowire.VarintType)
)

// timestamp reads an encoded Timestamp. It reports false for one that is not sound.
func timestamp(encoded []byte) (time.Time, bool) {
	m := message{rest: encoded}
	var seconds int64
	var nanos int32
	for {
		switch t, n, _ := m.next(); t {
		case 0:
			sound := !m.bad && seconds >= firstSecond && seconds <= lastSecond && nanos >= 0 && nanos < 1e9
			return time.Unix(seconds, int64(nanos)).UTC(), sound
		case tagSeconds:
			seconds = int64(n)
		case tagNanos:
			nanos = int32(n)
		default:
			return time.Time{}, false
		}
	}
}
