package firestore

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
	for {
		docs, err := next(it)
		if err != nil {
			return Failure("listen to "+q.Collection, err)
		}
		f(docs)
	}
}

// next returns the next whole result. The SDK panics where the server breaks
// an assumption of its: that is a failure of the listener, not of the process.
func next(it *firestore.QuerySnapshotIterator) (docs []dlq.Doc, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Error(codes.Internal, fmt.Sprintf("the listener panicked: %v", p))
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
	docs = documents(snaps)
	for i := range docs {
		docs[i].ReadTime = snap.ReadTime
	}
	return docs, nil
}
