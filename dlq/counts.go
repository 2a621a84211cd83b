package dlq

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// Counts is how many dead letters wait, and since when.
type Counts struct {
	At      time.Time   // when they were counted
	Tiers   []TierCount // every tier, mildest first
	Freezes int64       // aggregates whose records are held, or not let go on yet
}

// TierCount is one tier.
type TierCount struct {
	Tier      contracts.Tier
	Open      int64
	Oldest    time.Time // when the oldest open one died; zero: there is none
	Replaying int       // whose replay somebody asked for and has not ended; of all tiers at most maxReplaying are counted
	States    []StateCount
}

// StateCount is one state in which dead letters of a tier wait.
type StateCount struct {
	State  contracts.DeadState
	Open   int64
	Oldest time.Time
}

// maxReplaying bounds what the count of replays under way reads: each costs a
// read, as no index tells them apart by tier.
const maxReplaying = 200

// Count counts what is open. It costs what Waiting does for each state in which dead
// letters wait, and one read for each replay under way.
func (q *Queue) Count(ctx context.Context) (*Counts, error) {
	states := OpenStates()
	counted := make([]StateCount, len(states))
	var replaying []Doc
	out := &Counts{At: q.now()}
	g, ctx := errgroup.WithContext(ctx)
	for n, s := range states {
		g.Go(func() (err error) {
			counted[n], err = q.Waiting(ctx, s.State)
			return err
		})
	}
	g.Go(func() (err error) {
		out.Freezes, err = q.store.Count(ctx, Query{Collection: contracts.CollectionFrozen})
		return err
	})
	g.Go(func() (err error) {
		replaying, err = q.store.Query(ctx, Query{
			Collection: contracts.CollectionDeadLetters, Where: []Where{{contracts.DeadFieldReplaying + "." + fieldID, ">", ""}},
			Select: []string{contracts.DeadFieldTier}, Limit: maxReplaying,
		})
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	for _, tier := range contracts.Tiers() {
		t := TierCount{Tier: tier}
		for n, s := range states {
			if s.Tier == tier {
				t.add(counted[n])
			}
		}
		for _, d := range replaying {
			if DecodeItem(d).Tier == tier {
				t.Replaying++
			}
		}
		out.Tiers = append(out.Tiers, t)
	}
	return out, nil
}

func (t *TierCount) add(s StateCount) {
	t.States = append(t.States, s)
	t.Open += s.Open
	if t.Oldest.IsZero() || !s.Oldest.IsZero() && s.Oldest.Before(t.Oldest) {
		t.Oldest = s.Oldest
	}
}

func inState(state contracts.DeadState) Query {
	return Query{Collection: contracts.CollectionDeadLetters, Where: []Where{{contracts.DeadFieldState, "==", string(state)}}}
}

// Waiting counts the dead letters of one state in which they wait. It costs a read,
// and where there are some another one and one for each further thousand of them.
func (q *Queue) Waiting(ctx context.Context, state contracts.DeadState) (StateCount, error) {
	out := StateCount{State: state}
	query := inState(state)
	var err error
	if out.Open, err = q.store.Count(ctx, query); err != nil || out.Open == 0 {
		return out, err
	}
	query.OrderBy = oldestDead
	out.Oldest, err = q.firstOf(ctx, query)
	return out, err
}

// Open is how many wait in all tiers together.
func (c *Counts) Open() int64 {
	var n int64
	for _, t := range c.Tiers {
		n += t.Open
	}
	return n
}
