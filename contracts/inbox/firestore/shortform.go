package firestore

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts/inbox"
)

// CheckAndMarkProcessed implements inbox.Store. Of a new event it makes the document, which
// only one of many can: in transactions they would lock it against each other, and wait until
// Firestore gives some of them up.
func (s *Store) CheckAndMarkProcessed(ctx context.Context, consumer, eventID string, ttl time.Duration) (alreadyProcessed bool, err error) {
	if err := inbox.CheckMark(consumer, eventID, ttl); err != nil {
		return false, fmt.Errorf("mark event %s in Firestore: %w", eventID, err)
	}
	mark := event{Consumer: consumer, EventID: eventID, State: processed, Token: uuid.NewString()}
	alreadyProcessed, err = s.makeMark(ctx, mark, ttl)
	if code := status.Code(err); code == codes.AlreadyExists || code == codes.Aborted {
		alreadyProcessed, err = s.setMark(ctx, mark, ttl)
	}
	if err != nil {
		return false, fmt.Errorf("mark event %s in Firestore: %w", eventID, err)
	}
	return alreadyProcessed, nil
}

// makeMark fails with AlreadyExists where there is a document that tells of no end.
func (s *Store) makeMark(ctx context.Context, mark event, ttl time.Duration) (alreadyProcessed bool, err error) {
	doc := s.doc(mark.Consumer, mark.EventID)
	e, now, err := eventOf(doc.Get(ctx))
	if err != nil || e.State == processed {
		return err == nil, err
	}
	mark.ExpireAt = now.Add(ttl)
	_, err = doc.Create(ctx, mark)
	return false, err
}

// setMark writes over a document that has expired, or is of an event under way or dead. One of the same
// token is its own, of which the answer was lost.
func (s *Store) setMark(ctx context.Context, mark event, ttl time.Duration) (alreadyProcessed bool, err error) {
	doc := s.doc(mark.Consumer, mark.EventID)
	err = s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		e, now, err := read(tx, doc)
		if err != nil {
			return err
		}
		switch e.State {
		case processed:
			alreadyProcessed = e.Token != mark.Token
			return nil
		case "", claimed, waiting, dead:
		default:
			return inbox.UnknownState(e.State)
		}
		alreadyProcessed, mark.ExpireAt = false, now.Add(ttl)
		return tx.Set(doc, mark)
	})
	return alreadyProcessed, err
}
