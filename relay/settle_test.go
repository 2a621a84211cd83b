package relay_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

// errorCodes are the sixteen codes that a call can fail with.
func errorCodes() []codes.Code {
	var out []codes.Code
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		out = append(out, c)
	}
	return out
}

// someCodes are those that a run tries with whole relays: each, or one of each kind.
func someCodes(each bool) []codes.Code {
	if each {
		return errorCodes()
	}
	return []codes.Code{codes.Aborted, codes.PermissionDenied, codes.Unavailable, codes.Unknown}
}

func TestSettlesWhateverCodeACommitFailsWith(t *testing.T) {
	f := setup(t, newCloud(t))
	r := f.run()
	for _, code := range someCodes(thorough.Whole()) {
		t.Run(code.String(), func(t *testing.T) {
			f.t = t
			remove := f.cloud.embedded.Faults().Add(localfirestore.Fault{Method: "Commit", Match: settles("wsOutbox"), Code: code, Skip: 1, Times: 2})
			defer remove()
			records := f.series("wsOutbox", "TaskCompleted", "agg-"+code.String(), 1, 30)
			f.append(records, 6)
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
		})
	}
	f.t = t
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}

// Who has a document locked holds up its own record, not the batch that it is in.
func TestContendedDocumentHoldsUpNoOther(t *testing.T) {
	f := setup(t, newCloud(t))
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 40)
	contended := records[17:18]
	unlock := f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "Commit", Match: writesTo("wsOutbox/" + contended[0].ID), Code: codes.Aborted,
	})
	defer unlock()
	f.append(records, len(records))
	r := f.run()
	others := slices.Concat(records[:17], records[18:])
	f.eventually("the others are marked", func() bool { return f.unmarked(others, contracts.Delivered) == 0 })
	if f.unmarked(contended, contracts.Delivered) != 1 {
		t.Error("the contended record is marked")
	}
	unlock()
	f.eventually("the contended one is marked, too", func() bool { return f.unmarked(contended, contracts.Delivered) == 0 })
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
}

// A commit may be applied although its answer is lost: the relay finds its own
// write in place of the state that it insists on.
func TestSettlesOnceThoughTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Unknown} {
		t.Run(code.String(), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.retries(3, time.Millisecond)
			f.script(func(_ context.Context, _ string, r *contracts.Record) error {
				switch {
				case r.AggregateID == "dies", r.AggregateID == "stumbles" && r.Attempts == 0:
					return failure(contracts.Attributable, "Internal")
				}
				return nil
			})
			// Each commit of a record is applied, and every other answer lost.
			f.cloud.embedded.Faults().Add(localfirestore.Fault{
				Method: "Commit", Match: settles("wsOutbox"), LoseResponse: true, Code: code, Share: 0.5, Seed: 1,
			})
			r := f.run()
			fine := f.series("wsOutbox", "TaskCompleted", "fine", 1, 10)
			stumbles := f.series("wsOutbox", "TaskCompleted", "stumbles", 1, 5)
			dies := f.series("wsOutbox", "TaskCompleted", "dies", 1, 5)
			f.append(slices.Concat(fine, stumbles, dies), 20)

			if got, want := f.delivered(slices.Concat(fine, stumbles)), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			f.eventually("the others are dead", func() bool { return f.unmarked(dies, contracts.Dead) == 0 })
			if n := len(f.deadLetters()); n != len(dies) {
				t.Errorf("got %d dead letters, want %d", n, len(dies))
			}
			f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
			if n := r.deadLettered(contracts.AttemptsExhausted); n != float64(len(dies)) {
				t.Errorf("%v dead letters are counted, want %d", n, len(dies))
			}
			for _, fields := range f.documents(dies) {
				if fields["attempts"] != int64(3) {
					t.Errorf("a dead record has %v attempts, want 3", fields["attempts"])
				}
			}
		})
	}
}

// blockedOnce makes the first delivery of each record of an aggregate wait for
// release and then fail with err.
func (f *fixture) blockedOnce(aggregate string, err error) (reached <-chan struct{}, release chan struct{}) {
	in, out := make(chan struct{}, 100), make(chan struct{})
	f.script(func(ctx context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID != aggregate || r.Attempts > 0 {
			return nil
		}
		in <- struct{}{}
		select {
		case <-out:
		case <-ctx.Done():
		}
		return err
	})
	return in, out
}

func TestSettlesWhatChangedUnderTheRelay(t *testing.T) {
	t.Parallel()
	attributable := failure(contracts.Attributable, "Internal")
	permanent := failure(contracts.Permanent, "InvalidArgument")
	tests := []struct {
		name    string
		err     error // of the delivery that is under way meanwhile
		change  func(ctx context.Context, doc *firestore.DocumentRef) error
		arrives bool // whatever err
		check   func(t *testing.T, f *fixture, record map[string]any, letter map[string]any, arrived int)
	}{
		{
			name:   "deleted while it is delivered",
			change: remove,
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record != nil || letter != nil || arrived != 1 {
					t.Errorf("got record %v, dead letter %v and %d messages, want none, none and 1", record, letter, arrived)
				}
			},
		},
		{
			name:   "deleted while it fails for good",
			err:    permanent,
			change: remove,
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record != nil || letter["reason"] != "PERMANENT_FAILURE" {
					t.Errorf("got record %v and dead letter %v, want the dead letter alone", record, letter)
				}
			},
		},
		{
			name:   "delivered by another owner while it fails",
			err:    attributable,
			change: set("status", "delivered"),
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record["status"] != "delivered" || record["attempts"] != nil || letter != nil {
					t.Errorf("got %v with %v attempts and dead letter %v, want what the other owner wrote", record["status"], record["attempts"], letter)
				}
			},
		},
		{
			name:   "delivered by another owner while it fails for good",
			err:    permanent,
			change: set("status", "delivered"),
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record["status"] != "delivered" || letter != nil {
					t.Errorf("got %v and dead letter %v, want what the other owner wrote", record["status"], letter)
				}
			},
		},
		{
			name:   "held while it fails",
			err:    attributable,
			change: set("status", "held"),
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				// Its next attempt may be under way before the refusal is known.
				if record["status"] == "delivered" {
					f.eventually("its message arrives", func() bool { return f.arrivals("odd") > 0 })
					arrived = f.arrivals("odd")
				}
				if held := record["status"] == "held"; !held && (record["status"] != "delivered" || arrived != 1) {
					t.Errorf("got %v and %d messages, want it held, or delivered", record["status"], arrived)
				}
			},
		},
		{
			name:   "failed twice for another owner while it fails",
			err:    attributable,
			change: set("attempts", int64(2)), arrives: true,
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record["status"] != "delivered" || record["attempts"] != int64(2) || arrived != 1 {
					t.Errorf("got %v with %v attempts and %d messages, want it delivered once, and the attempts of the other owner kept", record["status"], record["attempts"], arrived)
				}
			},
		},
		{
			name:   "touched while it fails",
			err:    attributable,
			change: set("note", "kept"), arrives: true,
			check: func(t *testing.T, f *fixture, record, letter map[string]any, arrived int) {
				if record["status"] != "delivered" || record["note"] != "kept" || record["attempts"] != int64(1) || arrived != 1 {
					t.Errorf("got %v and %d messages, want it delivered once after one failed attempt, with its note", record, arrived)
				}
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.retries(3, 50*time.Millisecond)
			reached, release := f.blockedOnce("odd", test.err)
			r := f.run()
			odd := f.record("wsOutbox", "TaskCompleted", "odd", 1)
			even := f.series("wsOutbox", "TaskCompleted", "even", 1, 5)
			f.append(append(even, odd), 6)
			<-reached
			if err := test.change(t.Context(), f.db.Doc(odd.Path())); err != nil {
				t.Fatal(err)
			}
			close(release)
			f.delivered(even)
			f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
			arrived := 0
			if test.err == nil || test.arrives {
				f.eventually("its message arrives", func() bool { return f.judge([]*contracts.Record{odd}).missing == 0 })
			}
			for _, m := range f.inbox.all() {
				if m.attributes["aggregateId"] == "odd" {
					arrived++
				}
			}
			test.check(t, f, f.fields(odd.Path()), f.deadLetters()[odd.IdempotencyKey], arrived)
		})
	}
}

func remove(ctx context.Context, doc *firestore.DocumentRef) error {
	_, err := doc.Delete(ctx)
	return err
}

func set(field string, value any) func(context.Context, *firestore.DocumentRef) error {
	return func(ctx context.Context, doc *firestore.DocumentRef) error {
		_, err := doc.Update(ctx, []firestore.Update{{Path: field, Value: value}})
		return err
	}
}

func TestOneRefusedDocumentLeavesItsBatchAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"delivered", "dead"} {
		t.Run(kind, func(t *testing.T) {
			f := setup(t, newCloud(t))
			if kind == "dead" {
				f.script(func(context.Context, string, *contracts.Record) error {
					return failure(contracts.Permanent, "InvalidArgument")
				})
			}
			var records []*contracts.Record
			for a := range 40 {
				records = append(records, f.record("wsOutbox", "TaskCompleted", fmt.Sprintf("agg-%d", a), 1))
			}
			odd, others := records[3:9], slices.Concat(records[:3], records[9:])
			var mends []func()
			for _, r := range odd {
				mends = append(mends, f.cloud.embedded.Faults().Add(localfirestore.Fault{
					Method: "Commit", Match: writesTo(r.Path()), Code: codes.InvalidArgument,
				}))
			}
			r := f.run()
			f.append(records, len(records))
			f.eventually("the others are settled", func() bool { return f.unmarked(others, contracts.Status(kind)) == 0 })
			if n := f.unmarked(odd, contracts.Pending); n > 0 {
				t.Errorf("%d of the refused records changed", n)
			}
			for _, mend := range mends {
				mend()
			}
			f.eventually("the refused ones are settled too", func() bool { return r.inMemory() == 0 && f.unmarked(odd, contracts.Pending) == len(odd) })
		})
	}
}

func TestDeletesWhatIsDeliveredWhereTheCatalogSaysSo(t *testing.T) {
	f := setup(t, newCloud(t))
	f.catalog.Outbox("wsOutbox").OnDelivered = contracts.DeleteDelivered
	r := f.run()
	records := f.records("wsOutbox", 300, 10)
	f.append(records, 25)
	f.eventually("every record arrives", func() bool { return f.judge(records).missing == 0 })
	f.eventually("every document is gone", func() bool {
		return !slices.ContainsFunc(f.documents(records), func(fields map[string]any) bool { return fields != nil }) && r.inMemory() == 0
	})
	if got, want := f.judge(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

func TestTwoRecordsOfOneKeyAreBothDeadLettered(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "InvalidArgument")
	})
	f.run()
	one := f.record("wsOutbox", "AuditEvent", "twin", 1)
	two := *one
	two.Outbox = "skillOutbox"
	f.append([]*contracts.Record{one, &two}, 2)
	f.eventually("both are dead", func() bool { return f.unmarked([]*contracts.Record{one, &two}, contracts.Dead) == 0 })
	docs, err := f.db.Collection(contracts.CollectionDeadLetters).Documents(f.ctx).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range docs {
		paths = append(paths, d.Data()["recordPath"].(string))
	}
	slices.Sort(paths)
	if want := []string{two.Path(), one.Path()}; !slices.Equal(paths, want) {
		t.Errorf("got dead letters of %v, want of %v", paths, want)
	}
}
