package firestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// Collection is where events stand.
const Collection = "inbox-events"

// FieldExpireAt is the field of Collection that a TTL policy is for.
const FieldExpireAt = "expireAt"

// Unindexed lists fields of Collection that nothing looks for, and whose single-field indexes
// would harm: of what rises from one event to the next, and of what is large.
func Unindexed() []string { return []string{"leaseUntil", "nextAttemptAt", "errors"} }

// Store implements inbox.Store, and inbox.Transactor on *firestore.Transaction.
type Store struct{ client *firestore.Client }

var (
	_ inbox.Store                              = (*Store)(nil)
	_ inbox.Transactor[*firestore.Transaction] = (*Store)(nil)
)

// New returns a Store over client, which the caller closes once nothing uses the Store any
// more.
func New(client *firestore.Client) *Store { return &Store{client} }

// States of a document.
const (
	claimed   = "claimed"
	waiting   = "waiting"
	processed = string(inbox.EndProcessed)
	dead      = string(inbox.EndDead)
)

// event is a document of Collection.
type event struct {
	Consumer      string    `firestore:"consumer"`
	EventID       string    `firestore:"eventId"`
	State         string    `firestore:"state"`
	Token         string    `firestore:"token"`
	LeaseUntil    time.Time `firestore:"leaseUntil"`
	NextAttemptAt time.Time `firestore:"nextAttemptAt"`
	Failures      int       `firestore:"failures"`
	Takeovers     int       `firestore:"takeovers"`
	Errors        []string  `firestore:"errors"` // as JSON
	// Gate is consumer, aggregate and version while the event is open, so that one range of it
	// holds the older ones of its aggregate; "" once it is settled.
	Gate string `firestore:"gate"`
	// Aggregate is whose gate that is where another's would be the same, as of a/b and a%2Fb; ""
	// also in a document that was written before there was this field.
	Aggregate string    `firestore:"aggregate,omitempty"`
	ExpireAt  time.Time `firestore:"expireAt"`
}

func (s *Store) doc(consumer, eventID string) *firestore.DocumentRef {
	// The prefix keeps the ID from being one that Firestore forbids.
	return s.client.Collection(Collection).Doc(fit(consumer + ":" + contracts.DocumentID(eventID)))
}

// gate is the place of a version among those of its aggregate. The range of the older
// ones starts at that of version 0.
func gate(consumer, aggregateID string, version int64) string {
	return fmt.Sprintf("%s/%020d", fit(consumer+"/"+strings.ReplaceAll(aggregateID, "/", "%2F")), version)
}

// ambiguous returns an aggregate's ID where its gate may be another's too, else "". The gates
// themselves stay as they are, as those of events that are open are looked for.
func ambiguous(aggregateID string) string {
	if strings.Contains(aggregateID, "/") || strings.Contains(aggregateID, "%2F") {
		return fit(aggregateID)
	}
	return ""
}

// Claim implements inbox.Store.
func (s *Store) Claim(ctx context.Context, ask inbox.Ask) (c inbox.Claim, err error) {
	ref := s.doc(ask.Consumer, ask.EventID)
	err = s.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		c = inbox.Claim{}
		e, now, err := read(tx, ref)
		if err != nil {
			return err
		}
		if e.State == dead && ask.Replay {
			e = event{}
		}
		c.Failures, c.Takeovers, c.Errors = e.Failures, e.Takeovers, decodeErrors(e.Errors)
		switch {
		case e.State == processed:
			c.Verdict = inbox.Processed
		case e.State == dead:
			c.Verdict = inbox.Dead
		case e.State == claimed && now.Before(e.LeaseUntil) && e.Token == ask.Token:
			c.Verdict = inbox.Claimed
			e.LeaseUntil, e.ExpireAt = now.Add(ask.Lease), now.Add(ask.Keep)
			return tx.Set(ref, e)
		case e.State == claimed && now.Before(e.LeaseUntil):
			c.Verdict, c.Wait = inbox.Busy, e.LeaseUntil.Sub(now)
		case e.State == waiting && now.Before(e.NextAttemptAt):
			c.Verdict, c.Wait = inbox.Early, e.NextAttemptAt.Sub(now)
		case e.State != "" && e.State != claimed && e.State != waiting:
			c.Verdict = inbox.Busy // a newer version's word, which was rolled back: the event may have been handled
		}
		if c.Verdict != 0 {
			return nil
		}
		older, err := s.older(ctx, ask, now)
		if err != nil {
			return err
		}
		if older != nil {
			c.Verdict, c.Failing = inbox.Behind, older.State == waiting
			until := older.LeaseUntil
			if c.Failing {
				until = older.NextAttemptAt
			}
			c.Wait = max(0, until.Sub(now))
			return nil
		}
		if e.State == claimed {
			e.Takeovers++
			c.Takeovers = e.Takeovers
		}
		c.Verdict = inbox.Claimed
		e.Consumer, e.EventID, e.State, e.Token = ask.Consumer, ask.EventID, claimed, ask.Token
		e.LeaseUntil, e.ExpireAt = now.Add(ask.Lease), now.Add(ask.Keep)
		e.Gate, e.Aggregate = gate(ask.Consumer, ask.AggregateID, ask.Version), ambiguous(ask.AggregateID)
		return tx.Set(ref, e)
	})
	if err != nil {
		return inbox.Claim{}, fmt.Errorf("claim event %s in Firestore: %w", ask.EventID, err)
	}
	return c, nil
}

// older reads an open event of the aggregate with a lower version. It reads beside the
// transaction of the claim, and locks nothing: claims would wait for each other, on Google's
// emulator those of all events. One that is claimed between this and the commit might as well
// have been claimed after it, as a claim asks for no higher version.
func (s *Store) older(ctx context.Context, ask inbox.Ask, now time.Time) (*event, error) {
	docs := s.client.Collection(Collection).
		Where("gate", ">=", gate(ask.Consumer, ask.AggregateID, 0)).
		Where("gate", "<", gate(ask.Consumer, ask.AggregateID, ask.Version)).OrderBy("gate", firestore.Asc).Documents(ctx)
	defer docs.Stop()
	for { // one, but for those that wait for their removal, and those of an aggregate whose gate is the same
		snap, err := docs.Next()
		if errors.Is(err, iterator.Done) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var e event
		if err := snap.DataTo(&e); err != nil {
			return nil, err
		}
		if e.ExpireAt.After(now) && (e.Aggregate == "" || e.Aggregate == ambiguous(ask.AggregateID)) {
			return &e, nil
		}
	}
}

// read reads an event, and the server's time. One whose time is over is as if it were not
// there.
func read(tx *firestore.Transaction, ref *firestore.DocumentRef) (e event, now time.Time, err error) {
	return eventOf(tx.Get(ref))
}

// eventOf is read of what a read answered.
func eventOf(snap *firestore.DocumentSnapshot, err error) (e event, now time.Time, _ error) {
	if status.Code(err) == codes.NotFound && snap != nil {
		return e, snap.ReadTime, nil
	}
	if err != nil {
		return e, now, err
	}
	if err := snap.DataTo(&e); err != nil {
		return e, now, err
	}
	if !e.ExpireAt.After(snap.ReadTime) {
		return event{}, snap.ReadTime, nil
	}
	return e, snap.ReadTime, nil
}

// GiveBack implements inbox.Store.
func (s *Store) GiveBack(ctx context.Context, ref inbox.Ref, failure contracts.AttemptError, wait time.Duration) error {
	doc := s.doc(ref.Consumer, ref.EventID)
	err := s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		e, now, err := read(tx, doc)
		switch {
		case err != nil:
			return err
		case e.Token != ref.Token || e.State != claimed && e.State != waiting:
			return inbox.ErrLost
		case e.State == waiting:
			return nil // the same again
		}
		e.State, e.NextAttemptAt, e.Takeovers = waiting, now.Add(wait), 0
		if failure.Code != "" {
			text, err := json.Marshal(failure)
			if err != nil {
				return err
			}
			e.Failures++
			e.Errors = append(e.Errors, string(text))
			e.Errors = e.Errors[max(0, len(e.Errors)-inbox.MaxErrors):]
		}
		return tx.Set(doc, e)
	})
	if err != nil {
		return fmt.Errorf("give back event %s in Firestore: %w", ref.EventID, err)
	}
	return nil
}

// Settle implements inbox.Store.
func (s *Store) Settle(ctx context.Context, ref inbox.Ref, end inbox.End, ttl time.Duration) error {
	doc := s.doc(ref.Consumer, ref.EventID)
	err := s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		e, now, err := read(tx, doc)
		switch {
		case err != nil:
			return err
		case e.Token == ref.Token && (e.State == processed || e.State == dead):
			return nil // the same again
		case e.Token != ref.Token || e.State != claimed:
			return inbox.ErrLost
		}
		return tx.Update(doc, settled(string(end), now.Add(ttl)))
	})
	if err != nil {
		return fmt.Errorf("settle event %s in Firestore: %w", ref.EventID, err)
	}
	return nil
}

func settled(state string, expires time.Time) []firestore.Update {
	return []firestore.Update{{Path: "state", Value: state}, {Path: "gate", Value: ""}, {Path: FieldExpireAt, Value: expires}}
}

// Within implements inbox.Transactor. The claim is read first, f's reads come next and its
// writes last, as Firestore wants it. f is called again when the transaction meets another.
func (s *Store) Within(ctx context.Context, ref inbox.Ref, ttl time.Duration, f func(ctx context.Context, tx *firestore.Transaction) error) error {
	doc := s.doc(ref.Consumer, ref.EventID)
	var left departure
	var took time.Duration // by the handler
	err := s.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		e, now, err := read(tx, doc)
		switch {
		case err != nil:
			return err
		case e.Token != ref.Token || e.State != claimed:
			return inbox.ErrLost
		}
		began := time.Now()
		err = left.watch(func() error { return f(ctx, tx) })
		if took = time.Since(began); err != nil {
			return err
		}
		return tx.Update(doc, settled(processed, now.Add(ttl)))
	})
	left.repeat()
	if err != nil {
		if passes(err, left.err != nil, took) {
			err = inbox.Passing(err)
		}
		return fmt.Errorf("handle event %s within a transaction: %w", ref.EventID, err)
	}
	return nil
}

func decodeErrors(texts []string) []contracts.AttemptError {
	var out []contracts.AttemptError
	for _, text := range texts {
		var e contracts.AttemptError
		if json.Unmarshal([]byte(text), &e) == nil { // this package wrote it
			out = append(out, e)
		}
	}
	return out
}
