package relay_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/deploy/local/poll"
	"outboxrelay/relay"
)

// early is a stream of which one snapshot holds the youngest records alone, the first
// one or the first since its client opened it again; what was there before comes with
// the next, once goOn is closed. Google's emulator does so.
type early struct {
	relay.Stream
	again    func() // appends the records, once the first snapshot was taken; nil: they are in that
	taken    bool
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
	if s.taken && s.again != nil {
		s.again()
		s.again = nil
	}
	snap, err := s.Stream.Next()
	if err != nil || s.youngest == nil {
		return snap, err
	}
	if s.again != nil {
		s.taken = true
		return snap, nil
	}
	rest := relay.Snapshot{Size: snap.Size, ReadTime: snap.ReadTime}
	var first []relay.Doc
	for _, d := range snap.Changed {
		if s.youngest[d.ID] {
			first = append(first, d)
		} else {
			rest.Changed = append(rest.Changed, d)
		}
	}
	if len(first) == 0 { // a canary
		return snap, nil
	}
	s.rest = &rest
	s.split.Store(true)
	snap.Changed, snap.Size, snap.Opened = first, len(first), true
	return snap, nil
}

// A stream that tells of the youngest records first brings nothing out of order.
func TestFirstSnapshotThatLeavesOlderRecordsOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perCommit int
		again     bool
	}{
		"of commits before": {5, false}, "of the same commit": {20, false}, "since the client opened it again": {20, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			records, lead := f.series("wsOutbox", "TaskCompleted", "agg", 1, 20), f.series("wsOutbox", "TaskCompleted", "lead", 1, 1)
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
					arrive := func() { f.append(records, c.perCommit) } // the pages have seen none of them
					var again func()
					if c.again {
						f.append(lead, 1) // which leaves no doubt in the stream
						again = func() {
							poll.True(time.Minute, time.Millisecond, func() bool { return f.judge(lead).missing == 0 })
							arrive()
						}
					} else {
						arrive()
					}
					if stream, err = store.Watch(ctx, s); err != nil {
						return nil, err
					}
					return &early{Stream: stream, again: again, youngest: youngest, split: &split, goOn: goOn}, nil
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
