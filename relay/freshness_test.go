package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// A record may be committed with an older createdAt than one that was read
// already: the timestamp is taken before the commit. While the head of the lane
// is full of records that wait, the listener starts at the cursor, so the cursor
// must not have passed the place of such a record.
func TestACommitBeforeWhatWasReadIsSeen(t *testing.T) {
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.tuning.PageSize, f.tuning.SweepInterval = 15, time.Hour // no sweep makes up for it
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	var blocked []*contracts.Record
	for a := range 60 {
		blocked = append(blocked, f.record("schedOutbox", "CompensatingScheduleCancelled", fmt.Sprintf("cancel-%d", a), 1))
	}
	f.append(blocked, 7)
	first, late := f.record("schedOutbox", "ScheduleProposed", "first", 1), f.record("schedOutbox", "ScheduleProposed", "late", 1)

	f.wrapStore = func(store relay.Store) relay.Store {
		var done atomic.Bool // pages of one lane are read one after another, but a drain's beside them
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			page, err := store.Page(ctx, s)
			atEnd := s.Outbox == "schedOutbox" && s.Kind == relay.ScanLane && s.Lane == contracts.StandardLane && len(page) < s.Limit
			if err != nil || !atEnd || !done.CompareAndSwap(false, true) {
				return page, err
			}
			// Ahead of the server's clock, so that it is fresh however long this machine
			// takes to read it.
			f.appendAt(first, time.Now().Add(10*time.Second))
			if page, err = store.Page(ctx, s); err != nil {
				return nil, err
			}
			f.appendAt(late, page[len(page)-1].CreatedAt.Add(-time.Millisecond))
			return page, nil
		}}
	}
	f.run()
	records := []*contracts.Record{first, late}
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want both delivered", got)
	}
}

// appendAt commits a record with a createdAt of that time.
func (f *fixture) appendAt(r *contracts.Record, at time.Time) {
	f.t.Helper()
	fields := r.ProducerFields()
	fields[contracts.FieldCreatedAt] = at
	if _, err := f.db.Collection(r.Outbox).Doc(r.ID).Create(f.ctx, fields); err != nil {
		f.t.Error(err)
	}
}
