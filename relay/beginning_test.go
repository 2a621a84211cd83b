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
		others int // records that come first, of other aggregates
		page   int // the one in front of which the mark is applied
	}{
		"first page": {0, 1},
		"later page": {pageSize, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, on(t))
			f.tuning.PageSize = pageSize
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
			var pages, looks atomic.Int64
			delivers := make(chan struct{})
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
				_, err := f.db.Doc(oldest.Path()).Update(context.Background(), []firestore.Update{
					{Path: contracts.FieldStatus, Value: string(contracts.Retrying)},
					{Path: contracts.FieldAttempts, Value: 1},
					{Path: contracts.FieldNextAttemptAt, Value: time.Now().Add(time.Second)},
				})
				if err != nil {
					t.Error(err)
				}
			}
			f.wrapStore = func(store relay.Store) relay.Store {
				return &storeFunc{
					Store: store,
					page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
						if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && s.Lane == oldest.Lane {
							late()
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
