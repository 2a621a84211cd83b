package firestore

import (
	"context"
	"errors"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

// Watch implements relay.Store. Ending ctx is what frees the stream: the SDK's
// Stop only half closes it.
func (s *Store) Watch(ctx context.Context, sc relay.Scan) (relay.Stream, error) {
	ctx, heard := dlqfirestore.Hear(ctx, sc.Bytes)
	return &stream{it: query(s.watching.Client, sc).Limit(sc.Limit).Snapshots(ctx), outbox: sc.Outbox, heard: heard}, nil
}

type stream struct {
	it     *firestore.QuerySnapshotIterator
	outbox string
	heard  *dlqfirestore.Heard
}

// Next implements relay.Stream.
func (s *stream) Next() (relay.Snapshot, error) {
	snap, err := s.it.Next()
	if errors.Is(err, iterator.Done) {
		// Nobody called Stop: the SDK says Done when an open failed, and the
		// server's code is lost.
		err = status.Error(codes.Unavailable, "the stream could not be opened")
	}
	if told, over := s.heard.Over(); err != nil && over {
		return relay.Snapshot{}, &relay.TooMuchAtOnce{Documents: told.Documents, Bytes: told.Bytes}
	}
	if err != nil {
		return relay.Snapshot{}, dlqfirestore.Failure("listen to "+s.outbox, err)
	}
	out := relay.Snapshot{Size: snap.Size, ReadTime: snap.ReadTime, Opened: s.heard.Opened()}
	for _, c := range snap.Changes {
		if c.Kind != firestore.DocumentRemoved {
			out.Changed = append(out.Changed, document(c.Doc, snap.ReadTime))
		}
	}
	return out, nil
}
