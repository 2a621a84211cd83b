package outbox

import (
	"fmt"
	"time"
	"unicode/utf8"

	"outboxrelay/contracts"
)

// Firestore's limits, as its documentation has them.
const (
	maxDocument    = 1 << 20          // bytes, counted as documentSize does
	maxText        = maxDocument - 89 // bytes of a string or of bytes
	maxName        = 1500             // bytes of a document's ID, and of a field's names from the top, joined by dots
	maxDepth       = 20               // maps and arrays within each other, the payload included
	maxTransaction = 10 << 20         // bytes of a commit's request
)

// relayRoom is for what the relay writes into a record: status, times, targets and
// three failed attempts with their errors.
const relayRoom = 16 << 10

// overheadEach bounds what a write takes on the wire beside its document: names of
// types and lengths, and the database's name.
const overheadEach = 1 << 10

// FirestoreFaults names what Firestore would refuse of a document at the root, with that
// ID and those fields, that fits the contract otherwise; or what would leave the relay no
// room in it. It returns the document's size in bytes, as Firestore counts it.
func FirestoreFaults(collection, id string, fields map[string]any) (contracts.Faults, int) {
	var l limits
	if problem := idProblem(id); problem != "" && id != "" { // the check says why there is none
		l.fault(contracts.FieldIdempotencyKey, "makes a document ID that "+problem)
	}
	// The contract judges all other texts.
	if aggregateType, _ := fields[contracts.FieldAggregateType].(string); !utf8.ValidString(aggregateType) {
		l.fault(contracts.FieldAggregateType, "is not valid UTF-8")
	}
	for name, v := range fields {
		l.value(path(name), v, 1, len(name))
	}
	size := documentSize(collection, id, fields)
	if size > maxDocument-relayRoom {
		l.fault("", fmt.Sprintf("makes a document of %d bytes, want %d at most, which leaves the relay room for its own fields", size, maxDocument-relayRoom))
	}
	return l.faults, size
}

type limits struct{ faults contracts.Faults }

func (l *limits) fault(at path, problem string) {
	l.faults = append(l.faults, contracts.Fault{Field: string(at), Problem: problem})
}

// value looks into v, depth levels down, below names of so many bytes.
func (l *limits) value(at path, v any, depth, names int) {
	switch v := v.(type) {
	case string:
		l.text(at, len(v))
	case []byte:
		l.text(at, len(v))
	case time.Time:
		if v.UTC().Year() < 1 { // above 9999 breaks the contract, too
			l.fault(at, "is a timestamp before the year 1, which Firestore does not store")
		}
	case map[string]any:
		if l.deep(at, depth) {
			return
		}
		for name, item := range v {
			below := names + 1 + len(name)
			if problem := fieldProblem(name, below); problem != "" {
				l.fault(at, "has a key that "+problem)
			}
			l.value(at.key(name), item, depth+1, below)
		}
	case []any:
		if l.deep(at, depth) {
			return
		}
		for i, item := range v {
			if _, nested := item.([]any); nested {
				l.fault(at.index(i), "is an array directly within an array, which Firestore does not store: put a map in between")
				continue
			}
			l.value(at.index(i), item, depth+1, names)
		}
	}
}

func (l *limits) text(at path, size int) {
	if size > maxText {
		l.fault(at, fmt.Sprintf("is %d bytes long, want %d at most", size, maxText))
	}
}

// deep names what lies too deep, which is then not entered.
func (l *limits) deep(at path, depth int) bool {
	if depth <= maxDepth {
		return false
	}
	l.fault(at, fmt.Sprintf("lies deeper than %d levels", maxDepth))
	return true
}

// idProblem says what is wrong with a document's ID; "" is fine.
func idProblem(id string) string {
	switch {
	case id == "." || id == "..":
		return "is . or .."
	case len(id) > maxName:
		return fmt.Sprintf("is %d bytes long, want %d at most", len(id), maxName)
	}
	return fieldProblem(id, len(id))
}

// fieldProblem says what is wrong with a field's name, which makes a path of so many
// bytes; "" is fine.
func fieldProblem(name string, bytes int) string {
	switch {
	case name == "":
		return "is empty"
	case bytes > maxName:
		return fmt.Sprintf("makes a path of %d bytes with those above it, want %d at most", bytes, maxName)
	case contracts.ReservedName(name):
		return "is reserved by Firestore, as every __name__"
	}
	return ""
}

// documentSize counts as Firestore bills: each part of the name and 16 bytes, 32 for
// the document, and each field's name and value. The collection is at the root.
func documentSize(collection, id string, fields map[string]any) int {
	return len(collection) + 1 + len(id) + 1 + 16 + 32 + valueSize(fields)
}

func valueSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 1
	case []byte:
		return len(v)
	case int64, float64, time.Time:
		return 8
	case []any:
		n := 0
		for _, item := range v {
			n += valueSize(item)
		}
		return n
	case map[string]any:
		n := 0
		for name, item := range v {
			n += len(name) + 1 + valueSize(item)
		}
		return n
	}
	return 1 // null, boolean
}
