package firestore

import (
	"context"
	"errors"
	"maps"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Watch implements dlq.Store. f is called by the caller's goroutine. A listener
// that hears nothing any more may say nothing either: who watches looks by
// itself now and then.
func (s *Store) Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error {
	// Ending the context is what frees the stream: the SDK's Stop only half closes it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.Select = nil // the SDK panics on a document without the fields of its order
	it := query(s.client.Client, q).Snapshots(ctx)
	var seen standing
	if q.Limit == 0 { // others are few, and may be dead letters with their payloads
		seen = make(standing)
	}
	for {
		docs, err := next(it, seen)
		if err != nil {
			return Failure("listen to "+q.Collection, err)
		}
		f(docs)
	}
}

// standing are the documents of a listener's result, by path: with thousands of them,
// of which one changes, the others are not decoded again. nil keeps none.
type standing map[string]dlq.Doc

// documents are those of the next result, read at at.
func (s standing) documents(snaps []*firestore.DocumentSnapshot, at time.Time) []dlq.Doc {
	docs := make([]dlq.Doc, len(snaps))
	for i, snap := range snaps {
		d, ok := s[snap.Ref.Path]
		if !ok || !d.UpdateTime.Equal(snap.UpdateTime) {
			if d = document(snap); s != nil {
				s[snap.Ref.Path] = d
			}
		}
		d.ReadTime = at
		docs[i] = d
	}
	if len(s) > len(docs) {
		s.keep(snaps)
	}
	return docs
}

// keep forgets the documents that are not there any more.
func (s standing) keep(snaps []*firestore.DocumentSnapshot) {
	there := make(map[string]struct{}, len(snaps))
	for _, snap := range snaps {
		there[snap.Ref.Path] = struct{}{}
	}
	maps.DeleteFunc(s, func(path string, _ dlq.Doc) bool { _, ok := there[path]; return !ok })
}

// next returns the next whole result. The SDK panics where the server breaks
// an assumption of its: that is a failure of the listener, not of the process.
func next(it *firestore.QuerySnapshotIterator, seen standing) (docs []dlq.Doc, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Error(codes.Internal, "the listener panicked: "+contracts.PanicText(p))
		}
	}()
	snap, err := it.Next()
	if errors.Is(err, iterator.Done) {
		// Nobody called Stop: the SDK says Done when an open failed, and the
		// server's code is lost.
		err = status.Error(codes.Unavailable, "the stream could not be opened")
	}
	if err != nil {
		return nil, err
	}
	snaps, err := snap.Documents.GetAll()
	if err != nil {
		return nil, err
	}
	return seen.documents(snaps, snap.ReadTime), nil
}
