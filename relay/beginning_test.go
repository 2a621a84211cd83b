package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// The owner before may be late: its retry mark moves a record out of what a new
// owner reads as pending after that owner looked at what is in backoff. The
// younger ones of its aggregate must not be delivered before it, whichever page
// they come with.
func TestLateRetryMarkOfTheOwnerBefore(t *testing.T) {
	t.Parallel()
	lateRetryMark(t, newCloud)
}

func TestLateRetryMarkOfTheOwnerBeforeOnGoogle(t *testing.T) { lateRetryMark(t, onGoogle) }

func lateRetryMark(t *testing.T, on func(*testing.T) *cloud) {
	const pageSize = 20
	for name, test := range map[string]struct {
		others int  // records that come first, of other aggregates
		page   int  // the one in front of which the mark is applied
		held   bool // that page is read when no mark can come any more
	}{
		"first page":      {others: 0, page: 1},
		"later page":      {others: pageSize, page: 2},
		"much later page": {others: pageSize, page: 2, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, on(t))
			f.tuning.PageSize = pageSize
			if test.held {
				f.tuning.CommitTimeout = 3 * time.Second
			}
			before := f.member("old", 2*time.Second, nil)
			before.alive()
			before.stop()
			var records []*contracts.Record
			for i := range test.others {
				records = append(records, f.record("wsOutbox", "TaskCompleted", fmt.Sprint("other-", i), 1))
			}
			last := f.series("wsOutbox", "TaskCompleted", "ws-1", 1, 5)
			records = append(records, last...)
			for i, r := range records {
				f.appendAt(r, time.Now().Add(-time.Minute).Add(time.Duration(i)*time.Second))
			}
			oldest := last[0]
			var pages, looks, others atomic.Int64
			delivers, over := make(chan struct{}), make(chan struct{})
			late := func() {
				if pages.Add(1) != int64(test.page) {
					return
				}
				if test.page > 1 {
					select {
					case <-delivers:
					case <-t.Context().Done():
					}
				}
				if test.held {
					time.Sleep(f.tuning.CommitTimeout / 2) // all other looks are over
				}
				_, err := f.db.Doc(oldest.Path()).Update(context.Background(), []firestore.Update{
					{Path: contracts.FieldStatus, Value: string(contracts.Retrying)},
					{Path: contracts.FieldAttempts, Value: 1},
					{Path: contracts.FieldNextAttemptAt, Value: time.Now().Add(time.Second)},
				})
				if err != nil {
					t.Error(err)
				}
				if test.held {
					time.Sleep(f.tuning.CommitTimeout / 2) // the relay began before
				}
				close(over)
			}
			f.wrapStore = func(store relay.Store) relay.Store {
				return &storeFunc{
					Store: store,
					page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
						if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && s.Lane == oldest.Lane {
							late()
						} else if test.held && s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && others.Add(1) > 1 {
							<-over // each page of another lane would look again
						}
						page, err := store.Page(ctx, s)
						if s.Outbox == "wsOutbox" && s.Kind == relay.ScanRetrying {
							if looks.Add(1) == 1 { // with the first page
								close(delivers)
							}
						}
						return page, err
					},
				}
			}
			f.member("new", 2*time.Second, nil)
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if attempts := f.fields(oldest.Path())[contracts.FieldAttempts]; attempts != int64(1) {
				t.Errorf("the oldest counts %v attempts, want 1: the mark came too late to matter", attempts)
			}
		})
	}
}

// Where nobody had an outbox for long, no mark of an owner before can come: what is in
// backoff is looked at once, beside the first pages.
func TestAnOutboxThatNobodyHadIsLookedAtOnce(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = time.Hour
	records := f.series("wsOutbox", "TaskCompleted", "ws-1", 1, 5)
	f.append(records, len(records))
	var looks atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			if s.Outbox == "wsOutbox" && s.Kind == relay.ScanRetrying {
				looks.Add(1)
			}
			return store.Page(ctx, s)
		}}
	}
	f.member("first", 2*time.Second, nil)
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if n := looks.Load(); n != 1 {
		t.Errorf("%d looks at what is in backoff, want 1", n)
	}
}
