package relay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// shelf is a Store that has some documents, and does not answer at first.
type shelf struct {
	Store
	docs  map[string]Doc
	reads int
}

func (s *shelf) Get(_ context.Context, _, id string) (Doc, bool, error) {
	if s.reads++; s.reads == 1 {
		return Doc{}, false, errors.New("unavailable")
	}
	d, ok := s.docs[id]
	return d, ok, nil
}

// standingAs is docOf with a status, that long after it was read first.
func standingAs(s contracts.Status, version int64, later time.Duration) Doc {
	d := docOf(version, 10*time.Second)
	d.UpdateTime, d.ReadTime = at(60_000).Add(later-time.Second), at(60_000).Add(later)
	d.Content = told(func() map[string]any {
		return map[string]any{contracts.FieldAggregateVersion: version, contracts.FieldStatus: string(s)}
	})
	return d
}

// settleMany settles more records, one a millisecond, than a feed remembers.
func settleMany(in *intake, from time.Time) {
	for i := range 10_000 {
		at := from.Add(time.Duration(i) * time.Millisecond)
		rec := &feed.Record{Sight: feed.Sight{ID: fmt.Sprint("many-", i), UpdateTime: at, ReadTime: at}, Home: in.feed}
		in.ledger.step(feed.Batch{Feed: in.feed, Records: []*feed.Record{rec}})
		st := &feed.Settlement{Record: rec}
		in.ledger.step(feed.Settle{Settlement: st})
		in.ledger.step(feed.Settled{Settlement: st, At: at})
	}
}

// What was read before settlements that are forgotten is taken as it stands now,
// if it was not settled.
func TestWhatMayBeSettledIsReadAgain(t *testing.T) {
	takes := map[string]func(context.Context, *reader, []Doc) []int64{
		"read by its lane": func(ctx context.Context, r *reader, docs []Doc) []int64 {
			return versionsOf(r.decode(ctx, docs).entries)
		},
		"a stray": func(ctx context.Context, r *reader, docs []Doc) (versions []int64) {
			r.outbox.takeStrays(ctx, docs)
			r.outbox.ledger.machine.Each(func(rec *feed.Record) { versions = append(versions, rec.Version) })
			return versions
		},
	}
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := testReader(t)
				store := &shelf{docs: map[string]Doc{
					"v1": standingAs(contracts.Delivered, 1, time.Minute),
					"v2": standingAs(contracts.Pending, 2, 0),
				}}
				r.outbox.store = store
				settleMany(r.intake, at(120_000))
				docs := []Doc{
					standingAs(contracts.Pending, 1, 0), // settled
					standingAs(contracts.Pending, 2, 0),
					standingAs(contracts.Pending, 3, 0), // gone
				}
				if diff := cmp.Diff([]int64{2}, take(t.Context(), r, docs)); diff != "" {
					t.Errorf("taken; -want +got:\n%s", diff)
				}
				if want := len(docs) + 1; store.reads != want {
					t.Errorf("%d reads, want %d: one for each and one that was not answered", store.reads, want)
				}
			})
		})
	}
}
