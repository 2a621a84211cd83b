package relay_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"outboxrelay/relay"
)

// early is a stream whose first snapshot holds the youngest records alone; what
// was there before comes with the second, once goOn is closed. Google's emulator
// does so.
type early struct {
	relay.Stream
	youngest map[string]bool
	rest     *relay.Snapshot
	split    *atomic.Bool
	goOn     <-chan struct{}
}

func (s *early) Next() (relay.Snapshot, error) {
	if s.rest != nil {
		<-s.goOn
		rest := *s.rest
		s.rest, s.youngest = nil, nil
		return rest, nil
	}
	snap, err := s.Stream.Next()
	if err != nil || s.youngest == nil {
		return snap, err
	}
	s.rest = &relay.Snapshot{Size: snap.Size, ReadTime: snap.ReadTime}
	var first []relay.Doc
	for _, d := range snap.Changed {
		if s.youngest[d.ID] {
			first = append(first, d)
		} else {
			s.rest.Changed = append(s.rest.Changed, d)
		}
	}
	if s.split.Store(len(first) > 0); len(first) == 0 {
		s.rest, s.youngest = nil, nil
		return snap, nil
	}
	snap.Changed, snap.Size = first, len(first)
	return snap, nil
}

// A stream that tells of the youngest records first brings nothing out of order.
func TestFirstSnapshotThatLeavesOlderRecordsOut(t *testing.T) {
	t.Parallel()
	for name, perCommit := range map[string]int{"of commits before": 5, "of the same commit": 20} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 20)
			youngest := make(map[string]bool)
			for _, r := range records[15:] {
				youngest[r.ID] = true
			}
			var split atomic.Bool
			goOn := make(chan struct{})
			release := sync.OnceFunc(func() { close(goOn) })
			f.wrapStore = func(store relay.Store) relay.Store {
				var once sync.Once
				return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
					if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && !split.Load() { // the stream is first to tell of them
						return nil, nil
					}
					return store.Page(ctx, s)
				}, watch: func(ctx context.Context, s relay.Scan) (stream relay.Stream, err error) {
					opening := false
					if s.Outbox == "wsOutbox" && s.Lane == records[0].Lane {
						once.Do(func() { opening = true })
					}
					if !opening {
						return store.Watch(ctx, s)
					}
					f.append(records, perCommit) // the pages have seen none of them
					if stream, err = store.Watch(ctx, s); err != nil {
						return nil, err
					}
					return &early{Stream: stream, youngest: youngest, split: &split, goOn: goOn}, nil
				}}
			}
			f.run()
			t.Cleanup(release) // before the relay is stopped
			f.eventually("the youngest are delivered", func() bool { return f.judge(records[15:]).missing == 0 })
			release()
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if !split.Load() {
				t.Error("the first snapshot held nothing of them")
			}
		})
	}
}
