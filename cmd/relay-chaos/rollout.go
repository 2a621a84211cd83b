package main

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// otherCatalog is a rollout, or one that is taken back: a relay gives way to one whose catalog lacks
// some outboxes, which the others relay meanwhile, and which it is asked to decide about all the same. Then that
// one gives way, or dies.
func otherCatalog(ctx context.Context, s *stage, d draw) (time.Time, error) {
	dir, err := os.MkdirTemp(s.dir, "catalog-")
	if err != nil {
		return time.Time{}, err
	}
	path, err := rig.WriteCatalog(without(s.catalog, rand.New(rand.NewPCG(d.dice, 3))), dir)
	if err != nil {
		return time.Time{}, err
	}
	m, err := s.fleet.claim(ctx, d.victim)
	if err != nil {
		return time.Time{}, err
	}
	other, err := s.fleet.startClaimed(ctx, path)
	if err != nil {
		s.fleet.release(m)
		return time.Time{}, err
	}
	s.noteStop(s.fleet.stop(m))
	s.fleet.release(m)
	rig.Sleep(ctx, longerThan(d))
	err = s.fleet.start(ctx)
	gone := time.Now()
	if d.random() < 0.5 {
		s.fleet.kill(other)
	} else {
		s.noteStop(s.fleet.stop(other))
	}
	s.fleet.release(other)
	return gone, err
}

// without is a catalog that lacks about half of the outboxes of c, one at least, and has one.
func without(c *contracts.Catalog, r *rand.Rand) *contracts.Catalog {
	less := *c
	less.Outboxes = slices.Clone(c.Outboxes)
	r.Shuffle(len(less.Outboxes), func(i, j int) { less.Outboxes[i], less.Outboxes[j] = less.Outboxes[j], less.Outboxes[i] })
	less.Outboxes = less.Outboxes[:1+r.IntN(len(less.Outboxes)-1)]
	return &less
}
