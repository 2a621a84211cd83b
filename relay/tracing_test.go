package relay

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

const parentSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// recorded is a relay whose trails are kept.
func recorded(t *testing.T) (*Relay, *tracetest.SpanRecorder) {
	t.Helper()
	r, catalog := newTestRelay(t)
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r.tracing = newTracing(provider.Tracer("test"), r.now, nil, catalog)
	return r, spans
}

// tracedEntry is a record in memory that is traced.
func tracedEntry(t *testing.T, r *Relay) *entry {
	t.Helper()
	e := testEntry(t, r, 0)
	e.rec.Traceparent, e.rec.EventID, e.rec.EventType = parentSampled, "event", "ScheduleAssigned"
	e.readAt = r.now()
	e.rec.CreatedAt = e.readAt.Add(-time.Second)
	e.trail = r.tracing.record(e)
	if e.trail == nil {
		t.Fatal("it is not traced")
	}
	return e
}

// outcomesOf lists the outcomes of the trails that ended.
func outcomesOf(spans *tracetest.SpanRecorder) (out []string) {
	for _, s := range spans.Ended() {
		for _, a := range s.Attributes() {
			if a.Key == spanOutcome {
				out = append(out, a.Value.AsString())
			}
		}
	}
	return out
}

func TestTrailBeginsWithTheAppend(t *testing.T) {
	read := time.Now()
	for name, tc := range map[string]struct {
		created, want time.Time
		ahead         bool
	}{
		"appended before it was read":      {read.Add(-3 * time.Second), read.Add(-3 * time.Second), false},
		"by a server whose clock is ahead": {read.Add(time.Minute), read, true},
		"without a time":                   {time.Time{}, read, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, spans := recorded(t)
			e := testEntry(t, r, 0)
			e.rec.Traceparent, e.rec.CreatedAt, e.readAt = parentSampled, tc.created, read
			r.tracing.record(e).end(outcomeLeft)
			ended := spans.Ended()
			if len(ended) != 2 || ended[0].Name() != spanNameUnread {
				t.Fatalf("%d spans, want the wait in Firestore and the record's", len(ended))
			}
			root := ended[1]
			if !root.StartTime().Equal(tc.want) || !ended[0].StartTime().Equal(tc.want) || !ended[0].EndTime().Equal(read) {
				t.Errorf("it begins at %v, want %v, and was read at %v, want %v", root.StartTime(), tc.want, ended[0].EndTime(), read)
			}
			ahead := slices.ContainsFunc(root.Attributes(), func(a attribute.KeyValue) bool { return a.Key == spanAheadMs })
			if ahead != tc.ahead {
				t.Errorf("it tells of a clock that is ahead: %v, want %v", ahead, tc.ahead)
			}
		})
	}
}

// A record that is not sampled has no trail, and a relay without traces none at
// all.
func TestTrailOnlyOfWhatIsSampled(t *testing.T) {
	_, catalog := newTestRelay(t)
	if got := newTracing(nil, time.Now, nil, catalog); got != nil || got.record(nil) != nil || got.replay(nil) != nil {
		t.Error("there is a trail without a tracer")
	}
	r, _ := newTestRelay(t)
	registry := prometheus.NewRegistry()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	r.tracing = newTracing(provider.Tracer("test"), r.now, registry, catalog)
	for traceparent, want := range map[string]bool{
		parentSampled: true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": false,
		"":         false,
		"nonsense": false,
	} {
		e := testEntry(t, r, 0)
		e.rec.Traceparent = traceparent
		if got := r.tracing.record(e) != nil; got != want {
			t.Errorf("a record with traceparent %q has a trail: %v, want %v", traceparent, got, want)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	malformed := map[string]float64{}
	for _, m := range families[0].Metric {
		malformed[m.Label[0].GetValue()] = m.Counter.GetValue()
	}
	if malformed["schedOutbox"] != 1 || malformed["accOutbox"] != 0 || len(malformed) != len(catalog.Outboxes) {
		t.Errorf("malformed traceparents are counted as %v, want 1 of schedOutbox", malformed)
	}
}

// However a record leaves memory, its span ends, and says how.
func TestTrailEndsHoweverARecordLeaves(t *testing.T) {
	drop := lanes.Verdict{Action: lanes.Drop}
	for name, tc := range map[string]struct {
		leave func(*Relay, *entry)
		want  string
	}{
		"given back":      {func(_ *Relay, e *entry) { e.giveBack() }, outcomeLeft},
		"behind a freeze": {func(_ *Relay, e *entry) { e.outbox.leave(e) }, outcomeLeft},
		"settled elsewhere": {func(r *Relay, e *entry) {
			st := &settlement{entry: e, kind: settleDelivered}
			e.outbox.settle(e, st)
			r.settlers[e.lane].abandon(st, time.Now())
		}, outcomeElsewhere},
		"delivered": {func(r *Relay, e *entry) {
			r.conclude(t.Context(), e, ier.Outcome{Acked: e.route.Targets}, nil)
			commitLast(r, e)
		}, string(settleDelivered)},
		"dead": {func(r *Relay, e *entry) {
			e.rec.Attempts = r.catalog.Retry.MaxAttempts - 1
			r.conclude(t.Context(), e, ier.Outcome{Failed: failed(contracts.Attributable)}, nil)
			commitLast(r, e)
		}, string(settleDead)},
		"parked": {func(r *Relay, e *entry) {
			shutFunnel(t, e, "NOTIF_ROUTER")
			if got := r.park(feed.Tried{Record: &e.Record, Blocked: e.route.Targets}); got != drop {
				t.Fatalf("verdict %+v, want that it leaves", got)
			}
		}, outcomeLeft},
		"parked, with progress": {func(r *Relay, e *entry) {
			shutFunnel(t, e, "NOTIF_ROUTER")
			r.conclude(t.Context(), e, ier.Outcome{Acked: e.route.Targets[:1], Blocked: e.route.Targets[1:]}, nil)
			commitLast(r, e)
		}, outcomeLeft},
		"held": {func(r *Relay, e *entry) {
			e.outbox.hold(e)
			commitLast(r, e)
		}, string(settleHeld)},
	} {
		t.Run(name, func(t *testing.T) {
			r, spans := recorded(t)
			e := tracedEntry(t, r)
			job := r.job(e, e.route.Targets)
			e.trail.begin(job)
			tc.leave(r, e)
			if got := outcomesOf(spans); !slices.Equal(got, []string{tc.want}) {
				t.Errorf("outcomes %q, want %q once", got, tc.want)
			}
		})
	}
}

// commitLast says of the settlement that was made last that it was written.
func commitLast(r *Relay, e *entry) {
	s := r.settlers[e.lane]
	st := s.queue[len(s.queue)-1]
	st.written = time.Now()
	s.committed(st)
}

// A dead letter names the span in which it was buried, and only if there is one.
func TestTrailIsRememberedByADeadLetter(t *testing.T) {
	r, _ := recorded(t)
	e := tracedEntry(t, r)
	e.outbox.bury(e, contracts.PermanentFailure, e.tier)
	item := r.settlers[e.lane].queue[0].dead.item
	if want := e.trail.traceparent(); item.RelayTraceparent != want || item.Fields()[contracts.DeadFieldRelayTraceparent] != want {
		t.Errorf("the dead letter remembers %q, want %q", item.RelayTraceparent, want)
	}
	if got := dlq.DecodeItem(dlq.Doc{ID: item.ID, Fields: item.Fields()}).RelayTraceparent; got != item.RelayTraceparent {
		t.Errorf("it is read as %q", got)
	}
	r, _ = newTestRelay(t)
	e = testEntry(t, r, 0)
	e.outbox.bury(e, contracts.PermanentFailure, e.tier)
	item = r.settlers[e.lane].queue[0].dead.item
	if _, there := item.Fields()[contracts.DeadFieldRelayTraceparent]; there {
		t.Error("a dead letter that is not traced remembers a span")
	}
}

// Traces cost a record nothing while they are off: not one allocation.
func TestTrailOffAllocatesNothing(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 0)
	st := &settlement{entry: e, kind: settleDelivered}
	job := &ier.Job{}
	out := ier.Outcome{Acked: e.route.Targets}
	if n := testing.AllocsPerRun(100, func() {
		e.trail = r.tracing.record(e)
		e.trail.begin(job)
		e.trail.conclude(out)
		e.trail.waits(lanes.Verdict{Action: lanes.Again})
		e.trail.settle(st)
		e.trail.settled(st)
		e.trail.end(outcomeLeft)
		_ = e.trail.field()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
