package relay

import (
	"context"
	"time"

	"outboxrelay/contracts"
)

// Store is what the relay needs of Firestore. Package relay/firestore
// implements it over the real client; nothing else in relay knows the SDK.
type Store interface {
	// Page reads one page of s, in its order.
	Page(ctx context.Context, s Scan) ([]Doc, error)
	// Watch opens a snapshot listener on s, whose Limit bounds its window. The
	// stream ends with ctx; whoever opened it must end that ctx, always.
	Watch(ctx context.Context, s Scan) (Stream, error)
	// Count counts the documents of s, its Limit and cursor apart.
	Count(ctx context.Context, s Scan) (int64, error)
	// Get reads one document; ok is false when it does not exist.
	Get(ctx context.Context, outbox, id string) (doc Doc, ok bool, err error)
	// Commit applies all writes or none and returns the server's commit time,
	// which is the update time of every document it changed. An error says by
	// behaviour what it means; see CommitError.
	Commit(ctx context.Context, writes []Write) (time.Time, error)
}

// Stream is an open snapshot listener. It is used by one goroutine.
type Stream interface {
	// Next blocks until the window changed. Any error, also the SDK's "done"
	// for an open that failed, ends the stream for good.
	Next() (Snapshot, error)
}

// Snapshot is a consistent view of a listener's window.
type Snapshot struct {
	Changed  []Doc // added or modified since the last snapshot; removals are not told: leaving a window proves nothing
	Size     int   // documents in the window now
	ReadTime time.Time
}

// Doc is one document as it was read.
type Doc struct {
	ID         string
	CreatedAt  time.Time // its createdAt; zero when that is not a timestamp
	CreateTime time.Time // of the document, by the server
	UpdateTime time.Time // of the document, by the server
	ReadTime   time.Time // when the server read it
	// Fields decodes the document into plain Go values (see
	// contracts.DecodeRecord). It is costly, so it is not done for documents
	// that turn out to be known.
	Fields func() map[string]any
	// Raw is the document in the store's own values, for a faithful copy.
	Raw func() map[string]any
	// Nonce is the value of a canary's nonce field; empty for records.
	Nonce string
}

// Scan describes one of the relay's queries on an outbox collection.
type Scan struct {
	Outbox  string
	Kind    ScanKind
	Lane    contracts.Lane   // ScanLane
	Lanes   []contracts.Lane // ScanStrays: the declared lanes
	After   Position         // ScanLane: where to go on; zero: from the start
	AfterID string           // scans by document ID: the one to go on after
	Limit   int              // documents at most
}

// ScanKind names the relay's queries. Each needs the index that
// `outbox-relay catalog indexes` prints.
type ScanKind int

const (
	// ScanLane: pending records of one lane, oldest first.
	ScanLane ScanKind = iota
	// ScanStrays: pending records whose lane the outbox does not declare.
	ScanStrays
	// ScanRetrying: records in backoff, by document ID.
	ScanRetrying
	// ScanUnordered: pending records by document ID, whatever they lack.
	ScanUnordered
	// ScanEverything: all documents by ID, also those without a status.
	ScanEverything
	// ScanWithStatus: documents that have a status. Counted, never paged.
	ScanWithStatus
	// ScanOddStatus: documents whose status is none of the known ones.
	ScanOddStatus
	// ScanNullStatus: documents whose status is null.
	ScanNullStatus
)

// Write is one write of a commit.
type Write struct {
	Collection string
	ID         string
	Op         WriteOp
	// Fields to set. For OpUpdate a nil value deletes the field, and a []string
	// in Union is added to an array without duplicates.
	Fields map[string]any
	Union  map[string][]string
	// IfUnchangedSince is a precondition on the document's update time; zero: none.
	IfUnchangedSince time.Time
}

// WriteOp is what a Write does.
type WriteOp int

const (
	// OpUpdate changes fields of a document that must exist.
	OpUpdate WriteOp = iota
	// OpCreate creates a document that must not exist.
	OpCreate
	// OpSet replaces a document, or creates it.
	OpSet
	// OpDelete deletes a document; one that is gone is fine.
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

// Position is a place in a lane's order: createdAt, then document ID.
type Position struct {
	At time.Time
	ID string // empty: before every document of that time
}

// Zero reports whether p is the start, before every document.
func (p Position) Zero() bool { return p.At.IsZero() && p.ID == "" }

func (p Position) before(q Position) bool {
	if !p.At.Equal(q.At) {
		return p.At.Before(q.At)
	}
	return p.ID < q.ID
}

func (d Doc) position() Position { return Position{At: d.CreatedAt, ID: d.ID} }
