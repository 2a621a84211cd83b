// Package firestore is the claims handler's Store over Cloud Firestore's own
// client.
package firestore

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/claims"
	"outboxrelay/dlq/firestore/lastanswer"
	"outboxrelay/relay/firestore/readable"
)

// Store implements claims.Store.
type Store struct{ client *firestore.Client }

var _ claims.Store = (*Store)(nil)

// New returns a Store over client, which the caller closes once nothing uses
// the Store any more.
func New(client *firestore.Client) *Store { return &Store{client: client} }

// Get implements claims.Store.
func (s *Store) Get(ctx context.Context, refs ...claims.Ref) ([]claims.Doc, error) {
	documents := make([]*firestore.DocumentRef, len(refs))
	for i, r := range refs {
		documents[i] = s.client.Collection(r.Collection).Doc(r.ID)
	}
	snaps, err := s.client.GetAll(ctx, documents)
	if err != nil {
		return nil, failure("read documents", err)
	}
	out := make([]claims.Doc, len(snaps))
	for i, snap := range snaps {
		out[i].ReadTime = snap.ReadTime
		if !snap.Exists() {
			continue
		}
		out[i].UpdateTime = snap.UpdateTime
		if out[i].Fields, err = fieldsOf(snap, refs[i].Needed()); err != nil {
			return nil, failure(fmt.Sprintf("read %s/%s", refs[i].Collection, refs[i].ID), status.Error(codes.DataLoss, err.Error()))
		}
	}
	return out, nil
}

// fieldsOf are a document's fields. Of one that the SDK cannot read as a whole they are those that
// are needed, with why one of them cannot be read in its place; an error where all are.
func fieldsOf(snap *firestore.DocumentSnapshot, needed []string) (map[string]any, error) {
	fields, err := readable.Fields(snap, nil)
	if err == nil || needed == nil {
		return fields, err
	}
	fields, unread := readable.Parts(snap, needed)
	for name, why := range unread {
		fields[name] = why
	}
	return fields, nil
}

// Put implements claims.Store.
func (s *Store) Put(ctx context.Context, ref claims.Ref, before claims.Doc, fields map[string]any) (claims.Doc, error) {
	document := s.client.Collection(ref.Collection).Doc(ref.ID)
	var result *firestore.WriteResult
	var err error
	ctx, last := lastanswer.Keep(ctx)
	if before.UpdateTime.IsZero() {
		result, err = document.Create(ctx, fields)
	} else {
		// Set knows no precondition, so every field is updated by name.
		updates := make([]firestore.Update, 0, len(fields)+len(before.Fields))
		for name, v := range fields {
			updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: v})
		}
		for name := range before.Fields {
			if _, kept := fields[name]; !kept {
				updates = append(updates, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: firestore.Delete})
			}
		}
		result, err = document.Update(ctx, updates, firestore.LastUpdateTime(before.UpdateTime))
	}
	if err != nil {
		return claims.Doc{}, failure(fmt.Sprintf("write %s/%s", ref.Collection, ref.ID), last.Explain(err))
	}
	return claims.Doc{Fields: fields, UpdateTime: result.UpdateTime, ReadTime: result.UpdateTime}, nil
}
