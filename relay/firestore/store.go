package firestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/relay"
)

// Store implements relay.Store.
type Store struct {
	watching *firestore.Client
	writing  *firestore.Client
}

var _ relay.Store = (*Store)(nil)

// New returns a Store over two clients of one database. The listeners' streams
// stay on watching, so that they never queue a page or a commit; the two may
// be the same. The caller closes them after the relay has returned.
func New(watching, writing *firestore.Client) *Store {
	return &Store{watching: watching, writing: writing}
}

// Page implements relay.Store.
func (s *Store) Page(ctx context.Context, sc relay.Scan) ([]relay.Doc, error) {
	it := query(s.writing, sc).Limit(sc.Limit).Documents(ctx)
	defer it.Stop()
	docs := make([]relay.Doc, 0, min(sc.Limit, 64))
	for {
		snap, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return docs, nil
		}
		if err != nil {
			return nil, failure("read page of "+sc.Outbox, err)
		}
		docs = append(docs, document(snap, snap.ReadTime))
	}
}

// Count implements relay.Store.
func (s *Store) Count(ctx context.Context, sc relay.Scan) (int64, error) {
	q := query(s.writing, sc)
	res, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
	if err != nil {
		return 0, failure("count "+sc.Outbox, err)
	}
	v, ok := res["n"].(*firestorepb.Value)
	if !ok {
		return 0, failure("count "+sc.Outbox, status.Error(codes.Internal, "the answer holds no count"))
	}
	return v.GetIntegerValue(), nil
}

// Get implements relay.Store.
func (s *Store) Get(ctx context.Context, outbox, id string) (relay.Doc, bool, error) {
	snap, err := s.writing.Collection(outbox).Doc(id).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return relay.Doc{}, false, nil
	}
	if err != nil {
		return relay.Doc{}, false, failure(fmt.Sprintf("read %s/%s", outbox, id), err)
	}
	return document(snap, snap.ReadTime), true, nil
}

// Commit implements relay.Store.
func (s *Store) Commit(ctx context.Context, writes []relay.Write) (time.Time, error) {
	// WriteBatch is deprecated in favour of BulkWriter, which is neither atomic
	// nor fast (batches of 20), and of transactions, which need one call more.
	// One Commit call with all the writes is what this needs.
	b := s.writing.Batch() //nolint:staticcheck // see above
	for _, w := range writes {
		ref := s.writing.Collection(w.Collection).Doc(w.ID)
		switch w.Op {
		case relay.OpCreate:
			b.Create(ref, w.Fields)
		case relay.OpSet:
			b.Set(ref, w.Fields)
		case relay.OpDelete:
			b.Delete(ref)
		case relay.OpUpdate:
			b.Update(ref, updates(w.Fields), preconditions(w)...)
		}
	}
	results, err := b.Commit(ctx)
	if err != nil {
		return time.Time{}, failure("commit", err)
	}
	var at time.Time
	for _, r := range results { // a no-op keeps its old update time; the latest is the commit's
		if r.UpdateTime.After(at) {
			at = r.UpdateTime
		}
	}
	return at, nil
}

func updates(fields map[string]any) []firestore.Update {
	ups := make([]firestore.Update, 0, len(fields))
	for name, v := range fields {
		if v == nil {
			v = firestore.Delete
		}
		ups = append(ups, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: v})
	}
	return ups
}

func preconditions(w relay.Write) []firestore.Precondition {
	if w.IfUnchangedSince.IsZero() {
		return nil // an update requires that the document exists, by itself
	}
	return []firestore.Precondition{firestore.LastUpdateTime(w.IfUnchangedSince)}
}
