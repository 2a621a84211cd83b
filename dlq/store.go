package dlq

import (
	"context"
	"errors"
	"time"

	"outboxrelay/contracts"
)

// Store is what the dead-letter queue needs of Firestore. Package
// dlq/firestore implements it over the real client; nothing else in dlq knows
// the SDK.
type Store interface {
	// Get reads documents by ID, in the order of ids. One that does not exist
	// has a zero UpdateTime.
	Get(ctx context.Context, collection string, ids ...string) ([]Doc, error)
	// Query reads at most q.Limit documents.
	Query(ctx context.Context, q Query) ([]Doc, error)
	// Count counts the documents of q, whose Limit bounds the count; 0: no bound.
	Count(ctx context.Context, q Query) (int64, error)
	// Counts counts the documents of several, all as they stand at one moment: what
	// comes, changes or goes meanwhile never makes them disagree.
	Counts(ctx context.Context, qs ...Query) ([]int64, error)
	// Commit applies all writes or none and returns the server's commit time.
	// An error says by behaviour what it means; see CommitError.
	Commit(ctx context.Context, writes []Write) (time.Time, error)
	// Watch calls f with the whole result of q, now and after each change, until
	// ctx ends or the listener fails. It always returns an error. f must not change the
	// documents' fields: those of what did not change come again with the next result.
	Watch(ctx context.Context, q Query, f func([]Doc)) error
}

// Doc is one document as it was read.
type Doc struct {
	ID         string
	Fields     map[string]any // plain Go values, see contracts.DecodeRecord
	CreateTime time.Time
	UpdateTime time.Time // zero: it does not exist
	ReadTime   time.Time
}

// Exists reports whether the document was there.
func (d Doc) Exists() bool { return !d.UpdateTime.IsZero() }

// Query describes a query on one collection.
type Query struct {
	Collection string // may be a path, as "bulk-replays/ID/items"
	Where      []Where
	OrderBy    []Order
	// StartAfter holds the values of OrderBy's fields of the document to go on
	// after; a document ID for FieldID.
	StartAfter []any
	// Select reads these fields alone; empty: all. A watched query reads all.
	Select []string
	Limit  int
}

// Where is one condition. All of a query hold together.
type Where struct {
	Field string // FieldID: Value is an ID, or IDs for "in"
	Op    string // "==", "<", "<=", ">", ">=", "in"
	Value any
}

// Order is one field of a query's order.
type Order struct {
	Field string
	Desc  bool
}

// FieldID stands for the document ID in an Order.
const FieldID = "__name__"

// Write is one write of a commit.
type Write struct {
	Collection string // may be a path
	ID         string
	Op         WriteOp
	// Fields to set. For OpUpdate and OpMerge a nil value deletes the field. A
	// ServerTime value becomes the server's time.
	Fields map[string]any
	// Union adds strings to array fields, without duplicates. OpUpdate and
	// OpMerge only.
	Union map[string][]string
	// IfUnchangedSince is a precondition on the document's update time; zero:
	// none. OpUpdate, OpSet and OpDelete only.
	IfUnchangedSince time.Time
}

// Latest is the time of a commit that left its documents with these update times: what
// was deleted has none, and what was not changed an earlier one.
func Latest(updated []time.Time) (at time.Time) {
	for _, t := range updated {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// ServerTime is a field value that the server replaces by its own time.
type ServerTime struct{}

// WriteOp is what a Write does.
type WriteOp int

const (
	// OpUpdate changes fields of a document that must exist.
	OpUpdate WriteOp = iota
	// OpCreate creates a document that must not exist.
	OpCreate
	// OpSet replaces a document, or creates it.
	OpSet
	// OpMerge changes fields of a document, or creates it.
	OpMerge
	// OpDelete deletes a document; one that is gone is fine, unless there is a
	// precondition.
	OpDelete
)

// CommitError is how a failed Commit says what it means.
type CommitError interface {
	error
	// Refused reports that the server judged the writes and refused one of
	// them (a precondition, a missing document, an invalid value): the same
	// commit will never succeed. Otherwise it may be sent again as it is.
	Refused() bool
	// Code is the bounded reason.
	Code() string
}

// RefusesDocument reports whether a commit failed for what Firestore never takes: a document
// that is too large or of a shape that it has not.
func RefusesDocument(err error) bool {
	switch contracts.CodeOf(err) {
	case "InvalidArgument", "OutOfRange":
		return true
	}
	return false
}

// IsRefused reports whether the server judged a commit and refused it.
func IsRefused(err error) bool {
	failed, ok := errors.AsType[CommitError](err)
	return ok && failed.Refused()
}
