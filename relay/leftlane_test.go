package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// leftLane is one that neither skillOutbox nor schedOutbox declares, as if their last
// event of it had moved to another.
const leftLane = contracts.CriticalLane

func inLeftLane(records []*contracts.Record) []*contracts.Record {
	for _, r := range records {
		r.Lane = leftLane
	}
	return records
}

// A lane that its outbox left takes up no more memory than one that it declares.
func TestLeftLaneDoesNotFillMemory(t *testing.T) {
	f := setup(t, newCloud(t))
	for lane, policy := range f.catalog.Lanes {
		policy.InFlightMiB = laneMemoryMiB
		f.catalog.Lanes[lane] = policy
	}
	const n, most = 40, 2*10 + 1
	var large []*contracts.Record
	for i := range n {
		r := f.record("skillOutbox", "SkillXpAdded", fmt.Sprintf("large-%d", i), 1)
		r.Payload = map[string]any{"text": strings.Repeat("x", largePayload)}
		large = append(large, r)
	}
	for i, r := range inLeftLane(large) {
		f.appendAt(r, time.Now().Add(time.Duration(i-1000)*time.Second))
	}
	answer := make(chan struct{})
	f.script(func(ctx context.Context, target string, _ *contracts.Record) error {
		if target != "FUNNEL_CRITICAL" {
			return nil
		}
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r := f.run()
	inMemory := func() int { return r.outbox("skillOutbox").InMemory }
	f.eventually("the lane's memory is full", func() bool {
		return r.gauge("relay_record_memory_bytes", "lane", string(leftLane)) >= laneMemoryMiB<<20 || inMemory() > most
	})
	if got := inMemory(); got > most {
		t.Errorf("%d records are in memory, want %d at most", got, most)
	}
	close(answer)
	if got := f.delivered(large); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// The window's edge and pages cut through commits whose first documents are the
// youngest of their aggregates.
func TestLeftLaneIsDeliveredInOrder(t *testing.T) {
	f := setup(t, newCloud(t))
	f.shrink(10, 12)
	f.tuning.PageSize = 15
	records := inLeftLane(backwards(f.records("skillOutbox", 240, 4)))
	rnd := rand.New(rand.NewPCG(3, 240))
	add := func(records []*contracts.Record) {
		for len(records) > 0 {
			n := min(20+rnd.IntN(81), len(records))
			f.append(records[:n], n)
			records = records[n:]
		}
	}
	add(records[:120])
	f.run().alive()
	add(records[120:])
	if got := f.delivered(records); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// What waits for a target that is out holds up nothing of its lane that does not, and
// a restart sends it to none of its targets again.
func TestLeftLaneOutlivesAnOutage(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.tuning.SweepInterval = time.Hour
	var mended atomic.Bool
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" && !mended.Load() {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	var waiting []*contracts.Record
	for i := range 3 * outageInFlight {
		waiting = append(waiting, f.record("schedOutbox", "ScheduleAssigned", fmt.Sprintf("waits-%d", i), 1))
	}
	inLeftLane(waiting)
	f.append(waiting, 10)
	r := f.run()
	f.eventually("they are at the target that is well", func() bool { return f.arrived("NOTIF_ROUTER") >= len(waiting) })
	others := inLeftLane(f.series("schedOutbox", "ScheduleProposed", "goes on", 1, 30))
	f.append(others, 10)
	if got := f.delivered(others); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	r.stop()
	mended.Store(true)
	f.run()
	if got := f.delivered(waiting); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// One that an instance before left in backoff waits for the older ones of its lane.
func TestLeftLaneHasWhatIsInBackoff(t *testing.T) {
	f := setup(t, newCloud(t))
	records := inLeftLane(f.series("skillOutbox", "SkillXpAdded", "account", 1, 3))
	f.leftBy(records[:1], nil)
	f.leftBy(records[1:2], map[string]any{"status": "retrying", "attempts": 1, "nextAttemptAt": time.Now().Add(-time.Minute)})
	f.leftBy(records[2:], nil)
	f.run()
	if got := f.delivered(records); got != (judgement{}) {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// Strays are of any size, and no query asks for many of them at once.
func TestManyStraysComeInPages(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withSiblings()
	const window, page = 20, 8 << 20
	var pages atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			if s.Kind == relay.ScanStrays {
				if pages.Add(1); s.Bytes == 0 || s.Bytes > page {
					t.Errorf("a page of strays of %d bytes, want %d at most", s.Bytes, page)
				}
			}
			return store.Page(ctx, s)
		}, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			if s.Kind == relay.ScanStrays && s.Limit > window {
				t.Errorf("a listener shows %d strays, want %d at most", s.Limit, window)
			}
			return store.Watch(ctx, s)
		}}
	}
	strays := f.series("wsOutbox", "TaskCompleted", "stray", 1, 3*window)
	f.leftBy(strays, map[string]any{"lane": "FAST_LANE"})
	f.run()
	f.eventually("they are dead", func() bool { return f.unmarked(strays, contracts.Dead) == 0 })
	if pages.Load() == 0 {
		t.Error("no page was read, want more of them read than the listener shows")
	}
}
