package relay_test

import (
	"context"
	"fmt"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// What is read by document ID comes in pages that end after so many bytes, here with
// each document, and all of it is found all the same.
func TestPagesByDocumentIDAreBounded(t *testing.T) {
	f := setup(t, newCloud(t))
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			if s.Kind != relay.ScanLane {
				if s.Bytes == 0 {
					t.Errorf("a page of kind %d has no bound", s.Kind)
				}
				s.Bytes = 1
			}
			return store.Page(ctx, s)
		}}
	}
	f.sweeping()
	var goOn []*contracts.Record
	for i := range 7 {
		goOn = append(goOn, f.record("wsOutbox", "TaskCompleted", fmt.Sprint("retrying-", i), 1))
	}
	f.leftBy(goOn, map[string]any{"status": "retrying", "attempts": 1})
	held := f.series("wsOutbox", "TaskCompleted", "held", 1, 7)
	f.leftBy(held, map[string]any{"status": "held"})
	die := f.series("wsOutbox", "TaskCompleted", "odd", 1, 3)
	f.leftBy(die, map[string]any{"status": "unheard"})
	unplaced := f.series("wsOutbox", "TaskCompleted", "unplaced", 1, 7)
	f.leftBy(unplaced, map[string]any{"lane": nil})
	if got := f.delivered(append(goOn, held...)); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	die = append(die, unplaced...)
	f.eventually("the others are dead", func() bool { return f.unmarked(die, contracts.Dead) == 0 })
}
