package relay_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
)

// ended are the codes that end the SDK's stream; it goes on by itself after
// the others, sometimes only after a minute.
var ended = []codes.Code{
	codes.Canceled, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
	codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.Unimplemented, codes.DataLoss,
}

func TestListenerOutlivesEveryCode(t *testing.T) {
	t.Parallel()
	for _, code := range someCodes(thorough.Whole()) {
		t.Run(code.String(), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.SilenceBound = time.Second
			faults := f.cloud.embedded.Faults()
			// The first opens fail, and later the streams that are open.
			faults.Add(localfirestore.Fault{Method: "Listen", Collection: "wsOutbox", Code: code, Times: 4})
			r := f.run()
			early := f.series("wsOutbox", "TaskCompleted", "agg", 1, 20)
			f.append(early, 10)
			f.delivered(early)
			f.eventually("the listener is proven alive", func() bool { return r.listener("wsOutbox", "STANDARD_LANE").ProvenAt != nil })

			f.eventually("an open stream is dropped", func() bool {
				return faults.DropStreams(localfirestore.Drop{Collection: "wsOutbox", Code: code}) > 0
			})
			late := f.series("wsOutbox", "TaskCompleted", "agg", 21, 40)
			f.append(late, 10)
			if got, want := f.delivered(append(early, late...)), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if slices.Contains(ended, code) {
				f.eventually("the rebuilds are counted by their reason", func() bool {
					return r.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox", "reason", code.String()) >= 1
				})
			}
			f.eventually("the listener is proven alive again", func() bool { return r.listener("wsOutbox", "STANDARD_LANE").State == "alive" })
		})
	}
}

func TestListenerOutlivesACutConnection(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.tuning.SilenceBound = time.Second
	r := f.run()
	r.alive()
	var all []*contracts.Record
	for round := range int64(5) {
		f.cloud.embedded.Faults().DropStreams(localfirestore.Drop{Collection: "wsOutbox", Hard: true})
		records := f.series("wsOutbox", "TaskCompleted", "agg", 10*round+1, 10*round+10)
		f.append(records, 5)
		all = append(all, records...)
		f.eventually("what was appended meanwhile arrives", func() bool { return f.judge(records).missing == 0 })
	}
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// A stream that goes silent ends without an error. Only the canary tells.
func TestSilentListenerIsRebuilt(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SilenceBound = 300 * time.Millisecond
	r := f.run()
	r.alive()
	mend := f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Listen", Collection: "wsOutbox", Stall: true})
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 20)
	f.append(records, 10)
	f.eventually("the listener is rebuilt", func() bool {
		return r.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox", "listener", "STANDARD_LANE", "reason", "silent") >= 1
	})
	mend()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	r.alive()
}

func TestListenerOutlivesAPanic(t *testing.T) {
	f := setup(t, newCloud(t))
	var panics atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			stream, err := store.Watch(ctx, s)
			return &streamFunc{Stream: stream, see: func(snap relay.Snapshot) relay.Snapshot {
				if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && panics.Add(1) <= 3 {
					panic("SDK at fault")
				}
				return snap
			}}, err
		}}
	}
	r := f.run()
	f.eventually("the panics are counted", func() bool {
		return r.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox", "reason", "panic") == 3
	})
	records := f.records("wsOutbox", 30, 3)
	f.append(records, 5)
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// A stream may take long to open, or be long in telling its window: pages bring
// what comes meanwhile.
func TestALaneIsNotBlindWhileItsListenerOpens(t *testing.T) {
	f := setup(t, newCloud(t))
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return store.Watch(ctx, s)
		}}
	}
	f.tuning.SilenceBound = 2 * usualPatience // nobody gives up waiting for it
	f.run()
	for range 3 {
		records := f.records("wsOutbox", 10, 3)
		f.append(records, 5)
		if got := f.delivered(records); got != (judgement{}) {
			t.Errorf("got %+v, want every record once and in order", got)
		}
	}
}

func TestStartsWhileFirestoreIsDown(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SilenceBound = time.Second
	records := f.records("wsOutbox", 30, 3)
	f.append(records, 10)
	mend := f.cloud.embedded.Faults().Add(localfirestore.Fault{Code: codes.Unavailable})
	r := f.run()
	f.eventually("the relay tries", func() bool {
		return f.cloud.embedded.Faults().List()[0].Hit > 20
	})
	if h := r.relay.Health(); h.Ready || h.Reason == "" {
		t.Errorf("got ready %v, reason %q; want not ready with a reason", h.Ready, h.Reason)
	}
	mend()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	r.alive()
	if !r.relay.Health().Ready {
		t.Error("got not ready, want ready")
	}
}

// A read that is swallowed ends by itself and is tried again.
func TestHangingPageIsGivenUp(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.CommitTimeout = 500 * time.Millisecond
	var hung atomic.Bool
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			if s.Outbox == "wsOutbox" && s.Kind == relay.ScanLane && hung.CompareAndSwap(false, true) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return store.Page(ctx, s)
		}}
	}
	records := f.records("wsOutbox", 10, 2)
	f.append(records, 10)
	f.run()
	f.delivered(records)
}

// Rebuilt listeners tell of everything again, also of what is in delivery.
func TestRebuildDeliversNothingTwice(t *testing.T) {
	f := setup(t, newCloud(t))
	f.breaks(localpubsub.Fault{Delay: 30 * time.Millisecond})
	r := f.run()
	r.alive()
	records := f.records("wsOutbox", 400, 10)
	for chunk := range slices.Chunk(records, 20) {
		f.append(chunk, 5)
		f.cloud.embedded.Faults().DropStreams(localfirestore.Drop{Code: codes.Aborted})
	}
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	if r.outbox("wsOutbox").Listeners[0].Rebuilds == 0 {
		t.Error("no listener was rebuilt")
	}
}
