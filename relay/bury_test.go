package relay_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
)

// appendOdd appends a record with other fields than its own.
func (f *fixture) appendOdd(r *contracts.Record, change func(fields map[string]any)) {
	f.t.Helper()
	fields := r.ProducerFields()
	fields["createdAt"] = firestore.ServerTimestamp
	change(fields)
	if _, err := f.db.Doc(r.Path()).Create(f.ctx, fields); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) dead(r *contracts.Record) {
	f.t.Helper()
	f.eventually("it is dead", func() bool { return f.fields(r.Path())["status"] == "dead" })
}

// Dead letters that came together are not replayed together.
func TestFirstReplaysAreSpread(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "InvalidArgument")
	})
	f.run()
	records := f.records("wsOutbox", 12, 12)
	f.append(records, len(records))
	f.eventually("they are dead", func() bool { return f.unmarked(records, contracts.Dead) == 0 })
	first := f.catalog.Replay.Delays[0]
	waits := make(map[time.Duration]bool)
	for id, letter := range f.deadLetters() {
		wait := letter["nextReplayAt"].(time.Time).Sub(letter["deadAt"].(time.Time))
		if wait < first*8/10-time.Millisecond || wait > first*12/10+time.Millisecond {
			t.Errorf("%s is replayed after %v, want %v, a fifth more or less", id, wait, first)
		}
		waits[wait] = true
	}
	if len(waits) < len(records)/2 {
		t.Errorf("%d dead letters wait for only %d different times", len(records), len(waits))
	}
}

// A record whose version is missing or broken has no place in the order of its
// aggregate, so that its dead letter stands in nobody's way.
func TestADeadLetterWithoutVersionIsOutOfTheOrder(t *testing.T) { versionless(t, newCloud(t)) }

func TestADeadLetterWithoutVersionIsOutOfTheOrderOnGoogle(t *testing.T) { versionless(t, onGoogle(t)) }

func versionless(t *testing.T, c *cloud) {
	for name, change := range map[string]func(map[string]any){
		"missing":  func(fields map[string]any) { delete(fields, "aggregateVersion") },
		"mistyped": func(fields map[string]any) { fields["aggregateVersion"] = "first" },
		"negative": func(fields map[string]any) { fields["aggregateVersion"] = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, c)
			f.withQueue(nil)
			r := f.run()
			broken := f.record("wsOutbox", "TaskCompleted", "agg-"+name, 1)
			f.appendOdd(broken, change)
			f.dead(broken)
			if letter := f.deadLetters()[broken.IdempotencyKey]; letter["aggregateVersion"] != nil {
				t.Errorf("its version is %v, want null", letter["aggregateVersion"])
			}
			item := f.item(broken)
			if !item.Versionless {
				t.Error("it is read as one that has a version")
			}
			younger := dlq.Item{ID: "younger", Outbox: item.Outbox, AggregateID: item.AggregateID, AggregateVersion: 3}
			if older, err := f.queue.Older(t.Context(), &younger); err != nil || len(older) > 0 {
				t.Errorf("got %d older dead letters and %v, want none", len(older), err)
			}
			r.stop()
		})
	}
}

// Whatever stands in a record, its dead letter is written.
func TestADeadLetterCanAlwaysBeWritten(t *testing.T) {
	t.Parallel()
	const large = 1_046_000
	tests := []struct {
		name   string
		change func(fields map[string]any)
		has    string // a field of the copy
		lacks  string
	}{
		{"a field of a megabyte that nobody knows", func(fields map[string]any) {
			fields["notes"] = strings.Repeat("x", large)
			fields["deliveredTargets"] = slices.Repeat([]any{nil}, 60) // whose faults leave no room for it
		}, "eventId", "notes"},
		{"a trace ID of a megabyte", func(fields map[string]any) {
			fields["traceId"] = strings.Repeat("x", large)
			fields["deliveredTargets"] = slices.Repeat([]any{nil}, 60)
		}, "eventId", "traceId"},
		{"errors without end", func(fields map[string]any) {
			one := map[string]any{"message": strings.Repeat("x", 5000), "attempt": "none"}
			fields["attemptErrors"] = slices.Repeat([]any{one}, 150)
		}, "eventId", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.run()
			record := f.record("wsOutbox", "TaskCompleted", "agg", 1)
			f.appendOdd(record, test.change)
			f.dead(record)
			letter := f.deadLetters()[record.IdempotencyKey]
			kept, _ := letter["record"].(map[string]any)
			if kept[test.has] == nil || test.lacks != "" && kept[test.lacks] != nil {
				t.Errorf("the copy has %s %v and %s %v, want the first alone", test.has, kept[test.has] != nil, test.lacks, kept[test.lacks] != nil)
			}
			errs := letter["errors"].([]any)
			if len(errs) == 0 || len(errs) > 50 {
				t.Errorf("it keeps %d errors, want 50 at most", len(errs))
			}
			for _, e := range errs {
				if n := len(e.(map[string]any)["message"].(string)); n > contracts.MaxErrorBytes {
					t.Errorf("an error of %d bytes is kept", n)
				}
			}
		})
	}
}

// Until the dead letter of a record whose attempts are used up is written, a
// crash would have it delivered again: the younger ones of its aggregate wait.
func TestYoungerOnesWaitForADeadLetter(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(2, 10*time.Millisecond)
	records := f.series("wsOutbox", "TaskCompleted", "ws-1", 1, 4)
	oldest, younger := records[0], records[1:]
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if r.ID == oldest.ID {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	burying := make(chan struct{})
	once := sync.OnceFunc(func() { close(burying) })
	let := f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "Commit", Collection: contracts.CollectionDeadLetters, Stall: true,
		Match: func(localfirestore.Call) bool { once(); return true },
	})
	t.Cleanup(let)
	f.run()
	f.append(records, len(records))
	<-burying
	others := f.series("wsOutbox", "TaskCompleted", "ws-2", 1, 20)
	f.append(others, 5)
	f.eventually("other aggregates go on", func() bool { return f.judge(others).missing == 0 })
	if n := f.arrivals("ws-1"); n > 0 {
		t.Errorf("%d messages of younger records arrived before the dead letter was written", n)
	}
	let()
	if got, want := f.delivered(younger), (judgement{}); got != want {
		t.Errorf("got %+v, want every younger record once and in order", got)
	}
	f.dead(oldest)
}

// deadLettered is how many dead letters the metrics tell of.
func (r *running) deadLettered(reason contracts.Reason) float64 {
	return r.metric("relay_dead_letters_total", "outbox", "wsOutbox", "reason", string(reason))
}

// While no dead letter can be written none is told of, and each once that is.
func TestADeadLetterIsToldOfOnceItStands(t *testing.T) {
	f := setup(t, newCloud(t))
	core, logs := observer.New(zap.WarnLevel)
	f.log = f.log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, core) }))
	var tries atomic.Int64
	writes := creates(contracts.CollectionDeadLetters)
	mend := f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.PermissionDenied, Match: func(c localfirestore.Call) bool {
		fails := writes(c)
		if fails {
			tries.Add(1)
		}
		return fails
	}})
	defer mend()
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "InvalidArgument")
	})
	r := f.run()
	records := f.series("wsOutbox", "TaskCompleted", "dies", 1, 12)
	f.append(records, 4)
	f.eventually("their dead letters are tried again", func() bool { return tries.Load() > 3 })
	told := func() int { return logs.FilterMessage("record dead-lettered").Len() }
	if n := r.deadLettered(contracts.PermanentFailure); n != 0 || told() != 0 {
		t.Errorf("%v dead letters are counted, and %d logged, that are not there", n, told())
	}
	f.eventually("they grow old", func() bool {
		return r.gauge("relay_oldest_waiting_seconds", "lane", "STANDARD_LANE", "outbox", "wsOutbox") > 1
	})
	mend()
	f.eventually("they are dead", func() bool { return f.unmarked(records, contracts.Dead) == 0 && r.inMemory() == 0 })
	if n := r.deadLettered(contracts.PermanentFailure); n != float64(len(records)) || told() != len(records) {
		t.Errorf("%v dead letters are counted, and %d logged, want %d", n, told(), len(records))
	}
}
