package relay

import (
	"context"
	"fmt"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// Store is what the relay needs of Firestore. Package relay/firestore
// implements it over the real client; nothing else in relay knows the SDK.
type Store interface {
	// Page reads one page of s, in its order.
	Page(ctx context.Context, s Scan) ([]Doc, error)
	// Watch opens a snapshot listener on s, whose Limit bounds its window. The
	// stream ends with ctx; whoever opened it must end that ctx, always.
	Watch(ctx context.Context, s Scan) (Stream, error)
	// Count counts the documents of each scan, its Limit and cursor apart, all as
	// they stand at one moment: what comes, changes or expires meanwhile never
	// makes them disagree.
	Count(ctx context.Context, scans ...Scan) ([]int64, error)
	// Get reads one document; ok is false when it does not exist.
	Get(ctx context.Context, outbox, id string) (doc Doc, ok bool, err error)
	// Commit applies all writes or none and returns the update time of each document
	// after it: the server's commit time; an earlier one, if the write changed nothing;
	// zero for a deletion, which has none. An error says by behaviour what it means;
	// see dlq.CommitError.
	Commit(ctx context.Context, writes []Write) ([]time.Time, error)
}

// Stream is an open snapshot listener. It is used by one goroutine.
type Stream interface {
	// Next blocks until the window changed. Any error, also the SDK's "done"
	// for an open that failed, ends the stream for good. TooMuchAtOnce says that
	// the next snapshot would have been larger than the Scan's Bytes.
	Next() (Snapshot, error)
}

// TooMuchAtOnce ends a stream before its next snapshot is in memory: so many
// documents came for it, and more may follow.
type TooMuchAtOnce struct {
	Documents int
	Bytes     int64 // of them
}

func (e *TooMuchAtOnce) Error() string {
	return fmt.Sprintf("the listener was told of %d documents with %d bytes at once", e.Documents, e.Bytes)
}

// Snapshot is a consistent view of a listener's window.
type Snapshot struct {
	Changed  []Doc // added or modified since the last snapshot; removals are not told: leaving a window proves nothing
	Size     int   // documents in the window now
	ReadTime time.Time
	// Opened says that it is the first one of its stream, or the first since the
	// client opened that again by itself.
	Opened bool
}

// Doc is one document as it was read.
type Doc struct {
	ID         string
	CreatedAt  time.Time // its createdAt; zero when that is not a timestamp
	CreateTime time.Time // of the document, by the server
	UpdateTime time.Time // of the document, by the server
	ReadTime   time.Time // when the server read it
	Content              // nil: it was let go of
	// Size is how many bytes the document has, as it came; 0: that is not known.
	Size int
	// More says that the page ends here for its Scan's Bytes: there may be more behind.
	More bool
	// Nonce is the value of a canary's nonce field; empty for records.
	Nonce string
}

// Content is what a document holds, decoded as far as one asks for it.
type Content interface {
	// Fields decodes the document into plain Go values (see
	// contracts.DecodeRecord). It is costly, so it is not done for documents
	// that turn out to be known.
	Fields() map[string]any
	// Raw is the document in the store's own values, for a faithful copy.
	Raw() map[string]any
	// Parts decodes the fields that a record has, each for itself, and leaves out
	// what cannot be decoded: for a document over which Fields panics.
	Parts() map[string]any
	// Record decodes the document at less cost, if it is one of a plain record, and
	// returns nil if it is not. Of a record that keeps to its contract it says what
	// contracts.DecodeRecord would say, with the payload as JSON. Of one that does
	// not, Fields tells more.
	Record() *contracts.Record
}

// Scan describes one of the relay's queries on an outbox collection.
type Scan struct {
	Outbox  string
	Kind    ScanKind
	Lane    contracts.Lane   // ScanLane
	Lanes   []contracts.Lane // ScanStrays: the lanes that are read
	After   Position         // ScanLane: where to go on; zero: from the start
	AfterID string           // scans by document ID: the one to go on after
	// Aggregate is the aggregate ID that the documents have. Required by
	// ScanAggregate, optional for ScanRetrying and ScanHeld.
	Aggregate string
	// Shard, from 0, is the one that the documents have, where Shards, those of
	// the outbox, are several. With one shard or none it is no condition, which
	// ScanLane and ScanStrays of several have no index for. The kinds by status and
	// ScanEverything know no shard.
	Shard, Shards int
	Limit         int // documents at most
	// Bytes ends a page with the document that reaches it, and a listener by
	// TooMuchAtOnce before a snapshot of more; 0: neither has such an end. A store
	// need not know it.
	Bytes int64
}

// ScanKind names the relay's queries. Each needs the index that
// `outbox-relay catalog indexes` prints.
type ScanKind int

const (
	// ScanLane: pending records of one lane, oldest first.
	ScanLane ScanKind = iota
	// ScanStrays: pending records whose lane is none of Lanes.
	ScanStrays
	// ScanRetrying: records in backoff by document ID, of one aggregate if that is
	// given.
	ScanRetrying
	// ScanUnordered: pending records by document ID, whatever they lack.
	ScanUnordered
	// ScanEverything: all documents by ID, also those without a status.
	ScanEverything
	// ScanWithStatus: documents that have a status that is not null. Counted, never
	// paged.
	ScanWithStatus
	// ScanOddStatus: documents whose status is none of the known ones.
	ScanOddStatus
	// ScanUnsettled: documents whose status is none of pending, delivered and dead:
	// in backoff, held, or of an odd one. Counted, never paged.
	ScanUnsettled
	// ScanNullStatus: documents whose status is null.
	ScanNullStatus
	// ScanAggregate: pending records of one aggregate, by document ID.
	ScanAggregate
	// ScanHeld: held records by document ID, of one aggregate if that is given.
	ScanHeld
	// ScanShardBelow: pending records whose shard sorts before 0: null, a boolean,
	// NaN, a negative number. Shards is required, Shard is not looked at.
	ScanShardBelow
	// ScanShardAbove: pending records whose shard sorts after Shards-1: a larger
	// number, a string or any other type. Neither kind finds a fraction between
	// two shards, nor a record without shard, lane or createdAt.
	ScanShardAbove
)

// Write is one write of a commit: those of the dead-letter queue, as what the relay
// does to records and what the queue does to dead letters share the code that sends
// them.
type Write = dlq.Write

// The operations of a Write; see package dlq.
const (
	OpUpdate = dlq.OpUpdate
	OpSet    = dlq.OpSet
	OpDelete = dlq.OpDelete
)

// Position is a place in a lane's order: createdAt, then document ID.
type Position = feed.Position

func (d Doc) position() Position { return d.sight().Position() }

// sight is what the feeds go by.
func (d Doc) sight() feed.Sight {
	return feed.Sight{ID: d.ID, CreatedAt: d.CreatedAt, CreateTime: d.CreateTime, UpdateTime: d.UpdateTime, ReadTime: d.ReadTime}
}

// fresh reports whether a record may still appear before d.
func fresh(d Doc) bool { return d.sight().Fresh() }
