package relay_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

const (
	largePayload  = 100 << 10
	laneMemoryMiB = 1  // holds ten of them
	burst         = 30 // of them in a commit: Google's emulator takes 4 MiB at most
)

// largeRecords makes records of aggregates of their own that fill a lane's memory
// several times.
func (f *fixture) largeRecords(n int) (out []*contracts.Record) {
	for lane, policy := range f.catalog.Lanes {
		policy.InFlightMiB = laneMemoryMiB
		f.catalog.Lanes[lane] = policy
	}
	for i := range n {
		r := f.record("wsOutbox", "NoteAdded", fmt.Sprintf("large-%d", i), 1)
		r.Payload = map[string]any{"text": strings.Repeat("x", largePayload)}
		out = append(out, r)
	}
	return out
}

// A backlog of large records, whose target is slow, stays in Firestore but for what
// its lane's memory holds, and the lane's other outboxes go on.
func TestLargeRecordsDoNotFillMemory(t *testing.T)         { largeRecords(t, newCloud(t)) }
func TestLargeRecordsDoNotFillMemoryOnGoogle(t *testing.T) { largeRecords(t, onGoogle(t)) }

func largeRecords(t *testing.T, c *cloud) {
	f := setup(t, c)
	large, small := f.largeRecords(40), f.series("skillOutbox", "SkillXpAdded", "account-1", 1, 60)
	for i, r := range large { // long ago: for pages, which leave what is fresh to the listener
		f.appendAt(r, time.Now().Add(time.Duration(i-1000)*time.Second))
	}
	answer := make(chan struct{})
	f.script(func(ctx context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" {
			select {
			case <-answer:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	var smallPages atomic.Bool
	f.wrapStore = func(s relay.Store) relay.Store {
		return &storeFunc{Store: s, page: func(ctx context.Context, scan relay.Scan) ([]relay.Doc, error) {
			if scan.Outbox == "wsOutbox" && scan.Lane == contracts.StandardLane && scan.Limit*largePayload <= laneMemoryMiB<<20 {
				smallPages.Store(true)
			}
			return s.Page(ctx, scan)
		}}
	}
	r := f.run()
	const limit = laneMemoryMiB << 20
	most := 0.0
	inMemory := func() float64 {
		used := r.gauge("relay_record_memory_bytes", "lane", "STANDARD_LANE")
		most = max(most, used)
		return used
	}
	f.eventually("the lane's memory is full", func() bool { return inMemory() >= limit })
	f.append(small, 20)
	f.eventually("another outbox's records of the lane arrive", func() bool {
		inMemory()
		return f.arrived("FUNNEL_CRITICAL") >= len(small)
	})
	if most > 2*limit+largePayload {
		t.Errorf("records took up %.0f bytes, want little more than %d", most, limit)
	}
	close(answer)
	if got := f.delivered(append(large, small...)); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is in memory", func() bool { return inMemory() == 0 })
	if !smallPages.Load() {
		t.Error("no page was read that is smaller than the lane's memory")
	}
}

// A page that ends by its bytes, as that of large records, is not the backlog's last.
func TestPageThatEndsByItsBytesIsFollowed(t *testing.T) {
	f := setup(t, newCloud(t))
	large := f.largeRecords(40)
	for i, r := range large {
		f.appendAt(r, time.Now().Add(time.Duration(i-1000)*time.Second))
	}
	var paged, ended, listened atomic.Int64 // documents, pages, documents when the listener opened
	ofLane := func(scan relay.Scan) bool {
		return scan.Outbox == "wsOutbox" && scan.Lane == contracts.StandardLane
	}
	f.wrapStore = func(s relay.Store) relay.Store {
		return &storeFunc{
			Store: s,
			page: func(ctx context.Context, scan relay.Scan) ([]relay.Doc, error) {
				page, err := s.Page(ctx, scan)
				if ofLane(scan) && scan.Bytes > 0 {
					paged.Add(int64(len(page)))
					if len(page) > 0 && page[len(page)-1].More {
						ended.Add(1)
					}
				}
				return page, err
			},
			watch: func(ctx context.Context, scan relay.Scan) (relay.Stream, error) {
				if ofLane(scan) {
					listened.CompareAndSwap(0, max(1, paged.Load()))
				}
				return s.Watch(ctx, scan)
			},
		}
	}
	f.run()
	if got := f.delivered(large); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if ended.Load() == 0 {
		t.Error("no page ended by its bytes")
	}
	if got := listened.Load(); got != 0 && got < int64(len(large)) {
		t.Errorf("the lane listened after %d documents, want %d", got, len(large))
	}
}

// Large records that fail, and would fill their lane's memory, do not hold back
// those of other aggregates behind them.
func TestFailingLargeRecordsHoldBackThemselvesAlone(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, 10_000*time.Hour) // the wait is drawn from it: for each more than a test takes
	records := f.largeRecords(30)
	for i, r := range records {
		f.appendAt(r, time.Now().Add(time.Duration(i-1000)*time.Second))
	}
	failing := make(map[string]bool)
	for _, r := range records[:20] {
		failing[r.ID] = true
	}
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if failing[r.ID] {
			return own()
		}
		return nil
	})
	f.run()
	f.eventually("the others arrive", func() bool { return f.arrived("FUNNEL") >= len(records)-len(failing) })
}

// Large records that wait behind a target that is down must not stay in their
// listener's window, which holds them in memory: it is made smaller.
func TestWindowOfLargeRecordsShrinks(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	large := f.largeRecords(40)
	var shrunk atomic.Bool
	f.wrapStore = func(s relay.Store) relay.Store {
		return &storeFunc{Store: s, watch: func(ctx context.Context, scan relay.Scan) (relay.Stream, error) {
			if scan.Outbox == "wsOutbox" && scan.Lane == contracts.StandardLane && scan.Limit < len(large) {
				shrunk.Store(true)
			}
			return s.Watch(ctx, scan)
		}}
	}
	f.tuning.OutageTolerance = 1 << 20 // one record probes, however long
	mend := f.breaks(localpubsub.Fault{Code: codes.Unavailable, Topic: f.catalog.Targets["FUNNEL"].Topic})
	r := f.run()
	r.alive()
	f.append(large, 1)
	f.eventually("the records are left in Firestore", func() bool { return f.breakerOpen(r, "FUNNEL") && r.outbox("wsOutbox").InMemory <= 1 })
	f.eventually("a smaller window is opened", shrunk.Load)
	mend()
	if got := f.delivered(large); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// Large records that come at once to a listener whose window is wide, as no size is
// known, are read in pages: a snapshot of them all would be in memory before any bound
// counts. Old ones are what a release makes pending again, before the cursor.
func TestBurstOfLargeRecordsIsPaged(t *testing.T)         { burstOfLargeRecords(t, newCloud) }
func TestBurstOfLargeRecordsIsPagedOnGoogle(t *testing.T) { burstOfLargeRecords(t, onGoogle) }

func burstOfLargeRecords(t *testing.T, on func(*testing.T) *cloud) {
	for name, come := range map[string]func(*fixture, []*contracts.Record){
		"fresh": func(f *fixture, records []*contracts.Record) { f.append(records, burst) },
		"old":   func(f *fixture, records []*contracts.Record) { f.appendOld(records, burst) },
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, on(t))
			f.tuning.SweepInterval = time.Hour // which would find what was told and not read
			large := f.largeRecords(2 * burst)
			var told atomic.Int64 // most records in one snapshot
			f.wrapStore = func(s relay.Store) relay.Store {
				return &storeFunc{Store: s, watch: func(ctx context.Context, scan relay.Scan) (relay.Stream, error) {
					stream, err := s.Watch(ctx, scan)
					return &streamFunc{Stream: stream, see: func(snap relay.Snapshot) relay.Snapshot {
						for n := int64(len(snap.Changed)); n > told.Load(); {
							told.CompareAndSwap(told.Load(), n)
						}
						return snap
					}}, err
				}}
			}
			small := f.record("wsOutbox", "NoteAdded", "small", 1)
			f.appendAtOnce([]*contracts.Record{small}, time.Now().Add(-time.Minute)) // moves the cursor past the old ones
			r := f.run()
			f.delivered([]*contracts.Record{small})
			r.alive()
			come(f, large)
			if got := f.delivered(large); got != (judgement{}) {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if most := int64(2*laneMemoryMiB<<20/largePayload + 1); told.Load() > most {
				t.Errorf("%d records came in one snapshot, want %d at most", told.Load(), most)
			}
		})
	}
}
