package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/dlq"
)

const (
	// lookForDead is the pace at which a dead letter, or its first replay, is looked for.
	lookForDead = 200 * time.Millisecond
	// following is how many records follow a bad one in its own outbox.
	following = 2
)

// favourites are the event types of a trouble, by tier, where the catalog has
// them. Else it is the first one of that tier.
var favourites = map[contracts.Tier]string{
	contracts.SafeAuto:       "SkillXpAdded",
	contracts.ReviewRequired: "WalletDeducted",
	contracts.SecurityBlock:  "RoleChanged",
}

// Trouble is a record that its target refuses until it is a dead letter.
type Trouble struct {
	Record *contracts.Record
	Tier   contracts.Tier

	reach []string // see destinations
	topic string   // that refuses it; "": the handler of claims does, as the account has no user yet
	// later are records of the same aggregate, appended once it is dead: held
	// behind a SECURITY_BLOCK dead letter, delivered past any other.
	later []planned
}

// DeadLetter is its ID in the dead-letter queue.
func (t *Trouble) DeadLetter() string { return dlq.ID(t.Record.IdempotencyKey) }

// planned is a record that is to be appended.
type planned struct {
	record *contracts.Record
	reach  []string
}

// Account is the account that has no user until the trouble is a dead letter;
// "" when it is a topic that refuses it.
func (t *Trouble) Account() string {
	if t.topic != "" {
		return ""
	}
	return t.Record.AggregateID
}

// Plan makes a trouble for each tier that the catalog has, none of them for the
// target spare, whose outage would get in its way. The same seed plans the same.
func Plan(c *contracts.Catalog, seed uint64, spare string) []*Trouble {
	r := rand.New(rand.NewPCG(seed, 1))
	fit := func(e *contracts.EventRoute) bool {
		return !slices.Contains(e.Targets, spare)
	}
	var troubles []*Trouble
	for _, tier := range contracts.Tiers() {
		outbox, route := choose(c, favourites[tier], func(e *contracts.EventRoute) bool { return e.Tier == tier && fit(e) })
		if route == nil {
			continue
		}
		aggregate := contracts.SampleAggregate(outbox, fmt.Sprintf("trouble-%d-%08x", len(troubles)+1, uint32(seed)))
		t := &Trouble{
			Record: sample(c, r, outbox, route, aggregate, 1), Tier: tier, reach: destinations(c, route), topic: c.Targets[route.Targets[0]].Topic,
		}
		for v := range int64(following) {
			t.later = append(t.later, planned{sample(c, r, outbox, route, aggregate, 2+v), destinations(c, route)})
		}
		// A freeze holds the records of every outbox.
		others := slices.DeleteFunc(slices.Clone(c.Outboxes), func(o *contracts.Outbox) bool { return o == outbox })
		if other, route := choose(&contracts.Catalog{Outboxes: others}, favourites[contracts.SafeAuto], fit); route != nil && tier == contracts.SecurityBlock {
			t.later = append(t.later, planned{sample(c, r, other, route, aggregate, 1), destinations(c, route)})
		}
		troubles = append(troubles, t)
	}
	return troubles
}

// choose returns the event type that is asked for, if it fits, or the first
// that does; nil if none does.
func choose(c *contracts.Catalog, favourite string, fit func(*contracts.EventRoute) bool) (outbox *contracts.Outbox, route *contracts.EventRoute) {
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			if !fit(e) {
				continue
			}
			if e.Type == favourite {
				return o, e
			}
			if route == nil {
				outbox, route = o, e
			}
		}
	}
	return outbox, route
}

// sample is a sample of one event type.
func sample(c *contracts.Catalog, r *rand.Rand, o *contracts.Outbox, e *contracts.EventRoute, aggregate string, version int64) *contracts.Record {
	only := *o
	only.Events = []*contracts.EventRoute{e}
	return c.Sample(r, &only, aggregate, version, time.Now())
}

// Troublemaker appends troubles and lets their targets refuse them.
type Troublemaker struct {
	Client   *firestore.Client
	Faults   *pubsub.Faults
	Auth     *Auth // makes the missing user
	Ledger   *Ledger
	Troubles []*Trouble

	made atomic.Int64 // troubles
}

// Run makes the troubles, and mends each as soon as it has shown what it is for. It
// returns when all are mended, or when ctx ends.
func (m *Troublemaker) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range m.Troubles {
		g.Go(func() error { return m.run(ctx, t) })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("make trouble: %w", err)
	}
	return nil
}

// Made reports whether each trouble is a dead letter and the records after it are appended.
func (m *Troublemaker) Made() bool { return int(m.made.Load()) == len(m.Troubles) }

func (m *Troublemaker) run(ctx context.Context, t *Trouble) error {
	mend, err := m.spoil(t)
	if err != nil {
		return err
	}
	defer mend()
	if err := m.make(ctx, t); err != nil || t.Tier != contracts.SafeAuto {
		return err
	}
	// Its first replay fails, and its second one, half a minute later, does not.
	return m.await(ctx, t, func(dead *firestore.DocumentSnapshot) bool {
		replays, _ := dead.DataAt(contracts.DeadFieldReplays)
		n, _ := replays.(int64)
		return n > 0
	})
}

func (m *Troublemaker) make(ctx context.Context, t *Trouble) error {
	if !put(ctx, m.Client, m.Ledger, t.Record, t.reach) {
		return ctx.Err()
	}
	if err := m.await(ctx, t, (*firestore.DocumentSnapshot).Exists); err != nil {
		return err
	}
	if account := t.Account(); account != "" {
		if err := m.Auth.CreateUser(ctx, account); err != nil {
			return err
		}
	}
	for _, later := range t.later {
		if !put(ctx, m.Client, m.Ledger, later.record, later.reach) {
			return ctx.Err()
		}
	}
	m.made.Add(1)
	return nil
}

// spoil makes the trouble's topic refuse it until mend is called. What has no topic needs
// nothing: its user is missing.
func (m *Troublemaker) spoil(t *Trouble) (mend func(), err error) {
	if t.topic == "" {
		return func() {}, nil
	}
	id, err := m.Faults.Add(pubsub.Fault{
		Topic: t.topic, Attributes: map[string]string{contracts.AttrIdempotencyKey: t.Record.IdempotencyKey}, Code: codes.Internal,
	})
	return func() { m.Faults.Remove(id) }, err
}

// await looks at the trouble's dead letter, which may not exist yet, until done says so.
func (m *Troublemaker) await(ctx context.Context, t *Trouble, done func(*firestore.DocumentSnapshot) bool) error {
	for {
		dead, err := m.Client.Collection(contracts.CollectionDeadLetters).Doc(t.DeadLetter()).Get(ctx)
		switch {
		case ctx.Err() != nil: // the call's own error would not be one of the context
			return ctx.Err()
		case err != nil && status.Code(err) != codes.NotFound:
			return err
		case done(dead):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookForDead):
		}
	}
}
