package firestore

import (
	"bytes"
	"time"
	"unicode/utf8"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// head is what is known of every document, whatever its record.
type head struct {
	id                                string
	createdAt, createTime, updateTime time.Time
}

// headOf reads an encoded Document, whose name begins with parent. It reports false
// for what is no document of a record, or not encoded as a server does.
func headOf(parent, encoded []byte) (head, bool) {
	var h head
	var name []byte
	m := message{rest: encoded}
	for t, _, b := m.next(); t != 0; t, _, b = m.next() {
		once, sound := false, true
		switch t {
		case tagName:
			once, name = name == nil, b
		case tagFields:
			once, sound = h.field(b)
		case tagCreateTime:
			once = h.createTime.IsZero()
			h.createTime, sound = timestamp(b)
		case tagUpdateTime:
			once = h.updateTime.IsZero()
			h.updateTime, sound = timestamp(b)
		}
		if !once || !sound {
			return h, false
		}
	}
	id, within := bytes.CutPrefix(name, parent)
	h.id = string(id)
	return h, !m.bad && within && len(id) > 0 && bytes.IndexByte(id, '/') < 0 && utf8.Valid(id) && !h.createTime.IsZero() && !h.updateTime.IsZero()
}

// field looks for the one field that every document is sorted by. That of a canary
// reports false.
func (h *head) field(encoded []byte) (once, sound bool) {
	e, sound := entryOf(encoded)
	if !sound || string(e.key) == relay.FieldCanary {
		return false, false
	}
	if string(e.key) != contracts.FieldCreatedAt {
		return true, true
	}
	once = h.createdAt.IsZero()
	if v, ok := valueOf(e.value); ok && v.kind == tagTimestamp {
		h.createdAt, sound = timestamp(v.bytes)
	}
	return once, sound
}
