package relay_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// hiding keeps one document from every listener.
func hiding(store relay.Store, id string, hidden *atomic.Int64) relay.Store {
	return &storeFunc{Store: store, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
		stream, err := store.Watch(ctx, s)
		return &streamFunc{Stream: stream, see: func(snap relay.Snapshot) relay.Snapshot {
			before := len(snap.Changed)
			snap.Changed = slices.DeleteFunc(snap.Changed, func(d relay.Doc) bool { return d.ID == id })
			hidden.Add(int64(before - len(snap.Changed)))
			return snap
		}}, err
	}}
}

func TestSweepFindsWhatAListenerMissed(t *testing.T) {
	t.Parallel()
	t.Run("among others", func(t *testing.T) { sweepFinds(t, false) })
	t.Run("in an idle lane", func(t *testing.T) { sweepFinds(t, true) })
}

func sweepFinds(t *testing.T, alone bool) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval, f.tuning.SweepAge = 100*time.Millisecond, 1200*time.Millisecond
	missed := f.record("wsOutbox", "TaskCompleted", "missed", 1)
	var hidden atomic.Int64
	f.wrapStore = func(store relay.Store) relay.Store { return hiding(store, missed.ID, &hidden) }
	r := f.run()
	r.alive()
	var others []*contracts.Record
	if !alone {
		r.listens() // so that the stream passes for whole
		others = f.series("wsOutbox", "TaskCompleted", "others", 1, 20)
	}
	f.append(append(others, missed), 7)
	if got, want := f.delivered(append(others, missed)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	n := r.metric("relay_sweep_found_total", "outbox", "wsOutbox", "found", "missed")
	// Of the others some may grow that old before a busy machine's reader takes them.
	if hidden.Load() == 0 || n < 1 || n > 1 && alone {
		t.Errorf("hidden %d times and found %v times, want it found once", hidden.Load(), n)
	}
}

// A way of the sweep that fails each time, as its index is missing, keeps none of
// those after it from finding what they are for.
func TestAWayOfTheSweepThatFailsStopsNoOther(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval, f.tuning.SweepAge = 100*time.Millisecond, 600*time.Millisecond
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, count: func(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
			if scans[0].Kind == relay.ScanUnsettled {
				return nil, errors.New("the index is missing")
			}
			return store.Count(ctx, scans...)
		}}
	}
	r := f.run()
	r.alive()
	record := f.record("wsOutbox", "TaskCompleted", "agg", 1)
	fields := record.ProducerFields()
	fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	delete(fields, contracts.FieldStatus)
	if _, err := f.db.Doc(record.Path()).Create(f.ctx, fields); err != nil {
		t.Fatal(err)
	}
	f.eventually("the record without a status is dead", func() bool {
		return f.fields(record.Path())[contracts.FieldStatus] == string(contracts.Dead)
	})
	if n := r.metric("relay_sweep_errors_total", "outbox", "wsOutbox"); n < 1 {
		t.Errorf("%v sweeps failed, want some", n)
	}
}

// What stands behind gates is not missed, however old it is.
func TestSweepLeavesAloneWhatWaitsForATarget(t *testing.T) {
	f := setup(t, newCloud(t))
	f.shrink(20, 10)
	f.tuning.SweepInterval, f.tuning.SweepAge = 50*time.Millisecond, 501*time.Millisecond
	var mended atomic.Bool
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" && !mended.Load() {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	r := f.run()
	records := f.records("wsOutbox", 100, 10)
	records = slices.DeleteFunc(records, func(r *contracts.Record) bool { return r.EventType == "AuditEvent" })
	f.append(records, 10)
	f.eventually("they are left behind", func() bool { return f.breakerOpen(r, "FUNNEL") && r.inMemory() <= 1 })
	// While they were read, one may have been found that the reader had not come to.
	before := r.metric("relay_sweep_found_total")
	var swept time.Time
	for range 15 { // longer than that age
		f.eventually("another sweep is done", func() bool {
			at := r.outbox("wsOutbox").SweptAt
			done := at != nil && at.After(swept)
			if done {
				swept = *at
			}
			return done
		})
	}
	if n := r.metric("relay_sweep_found_total") - before; n > 0 {
		t.Errorf("the sweep found %v records, want none", n)
	}
	if pending := r.outbox("wsOutbox").Pending; pending != int64(len(records)) {
		t.Errorf("got %d pending records in health, want %d", pending, len(records))
	}
	mended.Store(true)
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
