package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

const (
	producers           = 8 // appending at the same time
	aggregatesPerOutbox = 8
	appendAgain         = 100 * time.Millisecond // pause after an append that failed

	// samples is the collection of the business documents that the sample
	// records belong to.
	samples = "sample-aggregates"
)

// Producers append sample records to every outbox of a catalog, each in one
// transaction with a business document, as a domain slice does.
type Producers struct {
	Client  *firestore.Client
	Catalog *contracts.Catalog
	Ledger  *Ledger
	Rate    float64 // records a second, all outboxes together; 0: as fast as it goes
	Records int64   // in all; 0: until the context ends
	Seed    uint64
}

// Run appends until Records are in or ctx ends, which is no error.
func (p *Producers) Run(ctx context.Context) error {
	limit := rate.Inf
	if p.Rate > 0 {
		limit = rate.Limit(p.Rate)
	}
	pace := rate.NewLimiter(limit, 1)
	var taken atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := range producers {
		g.Go(func() error { return p.produce(ctx, i, pace, &taken) })
	}
	return g.Wait()
}

// aggregate is one sample aggregate. One producer alone appends to it.
type aggregate struct {
	outbox  *contracts.Outbox
	id      string
	version int64 // of the last record; 0: none yet
}

func (p *Producers) produce(ctx context.Context, nth int, pace *rate.Limiter, taken *atomic.Int64) error {
	r := rand.New(rand.NewPCG(p.Seed, uint64(nth)))
	mine := p.aggregates(nth)
	for i := r.IntN(len(mine)); ; i++ {
		if err := pace.Wait(ctx); err != nil {
			return nil //nolint:nilerr // ctx ended, or will before it is this record's turn
		}
		if p.Records > 0 && taken.Add(1) > p.Records {
			return nil
		}
		if !p.append(ctx, r, mine[i%len(mine)]) {
			return nil
		}
	}
}

// Accounts lists the sample aggregates for which events go to the target of that
// name: the accounts of a handler of claims. Each needs a user before its first
// record.
func (p *Producers) Accounts(target string) []string {
	var ids []string
	for nth := range producers {
		for _, a := range p.aggregates(nth) {
			if slices.ContainsFunc(a.outbox.Events, func(e *contracts.EventRoute) bool { return slices.Contains(e.Targets, target) }) {
				ids = append(ids, a.id)
			}
		}
	}
	return ids
}

// aggregates shares the sample aggregates out, so that each producer has some
// of every outbox, those of one outbox not next to each other. Their names hold
// the seed: a second run over kept data does not start their versions anew.
func (p *Producers) aggregates(nth int) []*aggregate {
	var mine []*aggregate
	for i := nth; i < aggregatesPerOutbox; i += producers {
		for _, outbox := range p.Catalog.Outboxes {
			mine = append(mine, &aggregate{outbox: outbox, id: contracts.SampleAggregate(outbox, fmt.Sprintf("%s-%08x-%d", outbox.Name, uint32(p.Seed), i))})
		}
	}
	return mine
}

// append adds one record, and tries until it is in. It is false when ctx ended
// before.
func (p *Producers) append(ctx context.Context, r *rand.Rand, a *aggregate) bool {
	rec := p.Catalog.Sample(r, a.outbox, a.id, a.version+1, time.Now())
	if !put(ctx, p.Client, p.Ledger, rec, destinations(p.Catalog, a.outbox.RouteOf(rec.EventType, rec.EventVersion))) {
		return false
	}
	a.version++
	return true
}

// put appends a record and books it with what it is to reach, and tries until it is
// in. It is false when ctx ended before.
func put(ctx context.Context, client *firestore.Client, ledger *Ledger, rec *contracts.Record, reach []string) bool {
	ledger.Expect(rec.IdempotencyKey, rec.Lane, reach)
	for {
		err := commit(ctx, client, rec)
		// An append whose answer was lost is there when it is tried again.
		if err == nil || status.Code(err) == codes.AlreadyExists {
			ledger.Appended(rec.IdempotencyKey)
			return true
		}
		select {
		case <-ctx.Done():
			ledger.Forget(rec.IdempotencyKey)
			return false
		case <-time.After(appendAgain):
		}
	}
}

// commit writes the business document and its outbox record, or neither.
func commit(ctx context.Context, client *firestore.Client, rec *contracts.Record) error {
	fields := rec.ProducerFields()
	fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	return client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		business := client.Collection(samples).Doc(rec.AggregateID)
		if err := tx.Set(business, map[string]any{"version": rec.AggregateVersion, "lastEvent": rec.EventType}); err != nil {
			return err
		}
		return tx.Create(client.Collection(rec.Outbox).Doc(rec.ID), fields)
	})
}
