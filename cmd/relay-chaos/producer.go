package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

const (
	// business holds one document for each aggregate of an outbox: what its
	// producer writes for its own sake.
	business      = "chaos-business"
	versionField  = "version"
	appendAgain   = 50 * time.Millisecond        // pause after a commit that failed
	commitWithin  = 20 * time.Second             // of one try
	appendWithin  = 2 * time.Minute              // of all: longer than any fault
	averageCommit = (1 + recordsPerCommit) / 2.0 // records
	calmEvery     = time.Second                  // between commits, after all faults
)

// producer appends to one outbox, as a domain slice does: in the transaction of
// its business write, one after the other.
type producer struct {
	maker *maker
	docs  *firestore.Client
	truth *truth
	every time.Duration // between commits
	calm  atomic.Bool   // what it appends now is sound, little, and of aggregates of its own
}

// run appends until ctx ends. A commit that is under way then is left in doubt.
func (p *producer) run(ctx context.Context) error {
	next := time.Now()
	for {
		every := p.every
		if p.maker.calm = p.calm.Load(); p.maker.calm {
			every = calmEvery
		}
		next = next.Add(every)
		if late := time.Since(next); late > time.Second { // the cloud was out: go on from here
			next = time.Now()
		}
		if !rig.Sleep(ctx, time.Until(next)) {
			return nil
		}
		if err := p.append(ctx, p.maker.commit()); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // that is how it is told to stop
			}
			return err
		}
	}
}

// append writes the entries in one transaction, again and again until it knows
// that they are in.
func (p *producer) append(ctx context.Context, entries []entry) error {
	records := make([]*record, len(entries))
	for i, e := range entries {
		e.appended = time.Now()
		records[i] = e.record
	}
	p.truth.add(records...)
	for {
		err := p.try(ctx, entries)
		switch {
		case err == nil:
			p.truth.confirm(records...)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(entries[0].appended) > appendWithin:
			return fmt.Errorf("append to %s: %w", p.maker.outbox.Name, err)
		case !rig.Sleep(ctx, appendAgain):
			return ctx.Err()
		}
	}
}

// try is one transaction. It writes nothing when the business document of the
// last record shows that an earlier try was applied and only its answer was lost.
func (p *producer) try(ctx context.Context, entries []entry) error {
	ctx, cancel := context.WithTimeout(ctx, commitWithin)
	defer cancel()
	last := entries[len(entries)-1]
	return p.docs.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		snap, err := tx.Get(p.business(last))
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		if err == nil {
			if version, _ := snap.Data()[versionField].(int64); version >= last.version {
				return nil
			}
		}
		for _, e := range entries {
			if err := tx.Set(p.business(e), map[string]any{versionField: e.version}); err != nil {
				return err
			}
			if err := tx.Create(p.docs.Collection(e.outbox).Doc(e.id), fieldsOf(e)); err != nil {
				return err
			}
		}
		return nil
	})
}

// business is the document of the entry's aggregate.
func (p *producer) business(e entry) *firestore.DocumentRef {
	return p.docs.Collection(business).Doc(e.outbox + "~" + e.aggregate)
}

// fieldsOf are the entry's fields with the server's time of the append.
func fieldsOf(e entry) map[string]any {
	if _, ok := e.fields[contracts.FieldCreatedAt]; ok {
		e.fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	}
	return e.fields
}
