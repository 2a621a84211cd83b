package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay"
	"outboxrelay/relay/feed"
)

// While an outbox works off a backlog, CRITICAL_LANE alone has a listener of it: on
// Google's emulator each commit waits for all of them.
func TestNoListenerButTheUrgentWhileABacklogIsWorkedOff(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	const outbox = "accOutbox"
	const backlog, settled = 1000, 1000 - 500/5 // a fifth of the window may be left
	var marked atomic.Int64
	var mu sync.Mutex
	early := make(map[string]int64) // how many were marked by then
	critical := make(chan struct{})
	heard := sync.OnceFunc(func() { close(critical) })
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, commit: func(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
			at, err := store.Commit(ctx, writes)
			for _, w := range writes {
				if err == nil && w.Fields[contracts.FieldStatus] == string(contracts.Delivered) {
					marked.Add(1)
				}
			}
			return at, err
		}, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			switch {
			case s.Outbox != outbox:
			case s.Kind == relay.ScanLane && s.Lane == contracts.CriticalLane:
				heard()
			case marked.Load() < settled:
				mu.Lock()
				early[fmt.Sprint(s.Kind, s.Lane)] = marked.Load()
				mu.Unlock()
			}
			return store.Watch(ctx, s)
		}}
	}
	f.script(func(ctx context.Context, _ string, _ *contracts.Record) error {
		select {
		case <-critical:
		case <-ctx.Done():
		}
		return nil
	})
	records := f.series(outbox, "AuditEvent", "agg", 1, backlog)
	f.append(records, 100)
	appended := time.Now()
	f.eventually("pages bring them", func() bool { return time.Since(appended) > 2*feed.Freshness })
	r := f.run()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	r.alive() // all of them
	mu.Lock()
	defer mu.Unlock()
	for s, n := range early {
		t.Errorf("the listener %s was opened when %d of %d were settled", s, n, backlog)
	}
}

// A lane without a listener, as another of its outbox works off a backlog, takes what
// comes from pages, and listens from then on.
func TestALaneListensBesideABacklogOnceSomethingComes(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	release := make(chan struct{})
	var listens atomic.Bool
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			if s.Outbox == "wsOutbox" && s.Lane == contracts.BackgroundLane && !s.After.Zero() { // its second page
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return store.Page(ctx, s)
		}, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			if s.Outbox == "wsOutbox" && s.Lane == contracts.StandardLane {
				listens.Store(true)
			}
			return store.Watch(ctx, s)
		}}
	}
	f.tuning.CommitTimeout = 2 * usualPatience
	backlog := f.series("wsOutbox", "AuditEvent", "audited", 1, 500)
	f.append(backlog, 100)
	appended := time.Now()
	f.eventually("pages bring them", func() bool { return time.Since(appended) > 2*feed.Freshness })
	f.run()
	all := slices.Clone(backlog)
	f.eventually("a lane beside the backlog listens", func() bool {
		if listens.Load() {
			return true
		}
		next := f.series("wsOutbox", "TaskCompleted", "agg", int64(len(all)+1), int64(len(all)+1))
		f.append(next, 1)
		all = append(all, next...)
		f.eventually("it takes what comes", func() bool { return f.judge(next).missing == 0 })
		return listens.Load()
	})
	close(release)
	if got, want := f.delivered(all), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// Strays are polled beside a backlog, too: among them stands the canary of the owner
// before.
func TestPolledCanaryIsNoRecord(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	canary := map[string]any{
		contracts.FieldStatus: string(contracts.Pending), contracts.FieldLane: "", contracts.FieldCreatedAt: time.Unix(0, 0), relay.FieldCanary: "left",
	}
	if _, err := f.db.Collection("wsOutbox").Doc("!relay-canary.strays").Set(f.ctx, canary); err != nil {
		t.Fatal(err)
	}
	var polled atomic.Bool
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			page, err := store.Page(ctx, s)
			if s.Outbox == "wsOutbox" && s.Kind == relay.ScanStrays && slices.ContainsFunc(page, relay.Doc.Canary) {
				polled.Store(true)
			}
			return page, err
		}}
	}
	f.script(func(ctx context.Context, _ string, _ *contracts.Record) error {
		f.eventually("strays are polled", polled.Load)
		return nil
	})
	backlog := f.series("wsOutbox", "AuditEvent", "audited", 1, 500)
	f.append(backlog, 100)
	appended := time.Now()
	f.eventually("pages bring them", func() bool { return time.Since(appended) > 2*feed.Freshness })
	f.run()
	f.delivered(backlog)
	if dead := f.deadLetters(); len(dead) > 0 {
		t.Errorf("got dead letters %v, want none", dead)
	}
}
