package outbox_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	localfirestore "outboxrelay/deploy/local/firestore"
)

// All but what the caller said comes from the catalog and the context.
func TestAppendFillsInTheRest(t *testing.T)         { appendFillsInTheRest(t, onEmbedded(t)) }
func TestAppendFillsInTheRestOnGoogle(t *testing.T) { appendFillsInTheRest(t, onGoogle(t)) }

func appendFillsInTheRest(t *testing.T, s *slice) {
	s.catalog.Outbox("accOutbox").Shards = 4
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	occurred := time.Date(2026, 2, 19, 12, 0, 0, 123456789, time.FixedZone("CST", 8*3600))
	event := credited(7, 25)
	event.AggregateType, event.OccurredAt = "account", occurred
	results, err := s.append(trace.ContextWithSpanContext(t.Context(), span), event)
	if err != nil {
		t.Fatal(err)
	}
	eventID := outbox.EventID("accOutbox", "WalletCredited", 1, "acc-1", 7)
	doc, err := results[0].Document.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"eventId": eventID, "eventType": "WalletCredited", "eventVersion": int64(1), "aggregateType": "account", "aggregateId": "acc-1", "aggregateVersion": int64(7),
		"idempotencyKey": eventID + ":acc-1:7", "traceId": "01000000000000000000000000000000",
		"traceparent": "00-01000000000000000000000000000000-0200000000000000-01",
		"producer":    "VS2 account", "lane": "CRITICAL_LANE", "dlqTier": "REVIEW_REQUIRED",
		"occurredAt": occurred.UTC().Truncate(time.Microsecond), "createdAt": doc.CreateTime, "shard": int64(contracts.ShardOf("acc-1", 4)),
		"payload": map[string]any{"accountId": "acc-1", "amount": int64(25)}, "status": "pending",
	}
	if diff := cmp.Diff(want, doc.Data(), cmpopts.EquateApproxTime(time.Minute)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got := results[0]; got.Repeated || got.EventID != eventID || got.IdempotencyKey != eventID+":acc-1:7" || got.Document.ID != got.IdempotencyKey || got.TraceID != span.TraceID().String() {
		t.Errorf("result %+v", got)
	}
	if _, checked := s.stored(results[0].Document); checked.Faults.Err() != nil || len(checked.Disagreements) > 0 {
		t.Errorf("the relay's check: %v, %v", checked.Faults, checked.Disagreements)
	}
}

// Without a span there is a new trace, unless the caller has one.
func TestTraceWithoutASpan(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	mine := credited(3, 1)
	mine.TraceID = "request-1"
	results := s.mustAppend(credited(1, 1), credited(2, 1), mine)
	first, second := results[0].TraceID, results[1].TraceID
	if len(first) != 32 || len(second) != 32 || first == second || results[2].TraceID != "request-1" {
		t.Errorf("trace IDs %q, %q, %q", first, second, results[2].TraceID)
	}
	if rec, _ := s.stored(results[0].Document); rec.TraceID != first || rec.Traceparent != "" {
		t.Errorf("trace %q, parent %q", rec.TraceID, rec.Traceparent)
	}
}

// A second append of a key changes nothing and says so, though trace and times are
// others, and whatever became of the record meanwhile.
func TestSecondAppendIsARepeat(t *testing.T)         { secondAppendIsARepeat(t, onEmbedded(t)) }
func TestSecondAppendIsARepeatOnGoogle(t *testing.T) { secondAppendIsARepeat(t, onGoogle(t)) }

func secondAppendIsARepeat(t *testing.T, s *slice) {
	first := s.mustAppend(credited(1, 25.0))[0]
	if _, err := first.Document.Update(t.Context(), []firestore.Update{{Path: "status", Value: "delivered"}, {Path: "deliveredAt", Value: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	before, err := first.Document.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := credited(1, 25) // 25.0 and 25 are one number to consumers
	again.OccurredAt, again.TraceID = time.Now().Add(time.Hour), "another"
	results := s.mustAppend(again, credited(2, 1))
	want := outbox.Result{Document: first.Document, IdempotencyKey: first.IdempotencyKey, Repeated: true, EventID: first.EventID, TraceID: first.TraceID}
	if diff := cmp.Diff(want, results[0], cmpopts.IgnoreFields(outbox.Result{}, "Document")); diff != "" {
		t.Errorf("second append (-want +got):\n%s", diff)
	}
	if results[1].Repeated {
		t.Error("a new event beside the repeat is told as a repeat")
	}
	after, err := first.Document.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !after.UpdateTime.Equal(before.UpdateTime) || s.records("accOutbox") != 2 {
		t.Errorf("the record was touched, or the outbox has %d records, want 2", s.records("accOutbox"))
	}
}

// The same key with other content is an error, and nothing is written: not the other
// events, not the business write.
func TestCollisionIsToldApart(t *testing.T)         { collisionIsToldApart(t, onEmbedded(t)) }
func TestCollisionIsToldApartOnGoogle(t *testing.T) { collisionIsToldApart(t, onGoogle(t)) }

func collisionIsToldApart(t *testing.T, s *slice) {
	first := s.mustAppend(credited(1, 25))[0]
	_, err := s.append(t.Context(), credited(2, 1), credited(1, 26))
	collision, ok := errors.AsType[*outbox.CollisionError](err)
	if !ok {
		t.Fatalf("append: %v, want a *CollisionError", err)
	}
	want := []outbox.Collision{{Index: 1, Document: "accOutbox/" + first.IdempotencyKey, Differs: []string{"payload"}}}
	if diff := cmp.Diff(want, collision.Collisions); diff != "" {
		t.Errorf("collisions (-want +got):\n%s", diff)
	}
	if s.written() != 1 || s.records("accOutbox") != 1 {
		t.Errorf("%d business writes and %d records, want one of each", s.written(), s.records("accOutbox"))
	}
}

// Within one call, too, a key is written once, and two events with it collide.
func TestOneCallWithAKeyTwice(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	results := s.mustAppend(credited(1, 1), credited(1, 1))
	if results[0].Repeated || !results[1].Repeated || s.records("accOutbox") != 1 {
		t.Errorf("results %+v, %d records", results, s.records("accOutbox"))
	}
	_, err := s.append(t.Context(), credited(2, 1), credited(2, 2))
	if collision, ok := errors.AsType[*outbox.CollisionError](err); !ok || collision.Collisions[0].Index != 1 {
		t.Errorf("two events of a key: %v", err)
	}
}

// Of many that append the same event at once, one does, with its business write.
func TestConcurrentAppendsAreOne(t *testing.T)         { concurrentAppendsAreOne(t, onEmbedded(t)) }
func TestConcurrentAppendsAreOneOnGoogle(t *testing.T) { concurrentAppendsAreOne(t, onGoogle(t)) }

func concurrentAppendsAreOne(t *testing.T, s *slice) {
	var mu sync.Mutex
	appended := 0
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			var result outbox.Result
			err := s.client.RunTransaction(t.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
				results, err := s.Append(ctx, tx, credited(1, 25))
				if err != nil {
					return err
				}
				if result = results[0]; result.Repeated {
					return nil
				}
				return tx.Set(s.client.Doc("business/one"), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll)
			}, firestore.MaxAttempts(20))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !result.Repeated {
				appended++
			}
		})
	}
	all.Wait()
	if appended != 1 || s.written() != 1 {
		t.Errorf("%d say that they appended, %d business writes; want one of each", appended, s.written())
	}
}

// Append has to come before the transaction's writes; Prepare and Write leave room
// for other reads in between.
func TestReadsComeBeforeWrites(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	write := func(tx *firestore.Transaction) error {
		return tx.Set(s.client.Doc("business/one"), map[string]any{"n": 1})
	}
	err := s.client.RunTransaction(t.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
		if err := write(tx); err != nil {
			return err
		}
		_, err := s.Append(ctx, tx, credited(1, 1))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "read after write") || s.records("accOutbox") != 0 {
		t.Errorf("append after a write: %v", err)
	}
	err = s.client.RunTransaction(t.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
		prepared, err := s.Prepare(ctx, tx, credited(1, 1))
		if err != nil {
			return err
		}
		if _, err := tx.GetAll([]*firestore.DocumentRef{s.client.Doc("business/one")}); err != nil {
			return err
		}
		return errors.Join(write(tx), prepared.Write(tx))
	})
	if err != nil || s.records("accOutbox") != 1 {
		t.Errorf("prepare, read, write: %v, %d records", err, s.records("accOutbox"))
	}
}

// A batch reads nothing: its commit fails as a whole, and Compare tells why.
func TestBatch(t *testing.T)         { batch(t, onEmbedded(t)) }
func TestBatchOnGoogle(t *testing.T) { batch(t, onGoogle(t)) }

func batch(t *testing.T, s *slice) {
	commit := func(events ...outbox.Event) ([]*outbox.Record, error) {
		records, err := s.Records(t.Context(), events...)
		if err != nil {
			t.Fatal(err)
		}
		batch := s.client.Batch().Set(s.client.Doc("business/one"), map[string]any{"n": firestore.Increment(1)}, firestore.MergeAll) //nolint:staticcheck // deprecated, and in use
		for _, r := range records {
			batch.Create(r.Document, r.Data())
		}
		_, err = batch.Commit(t.Context())
		return records, err
	}
	if _, err := commit(credited(1, 1), credited(2, 1)); err != nil {
		t.Fatal(err)
	}
	records, err := commit(credited(2, 1), credited(3, 1))
	if status.Code(err) != codes.AlreadyExists || s.written() != 1 || s.records("accOutbox") != 2 {
		t.Fatalf("second commit: %v, %d business writes, %d records", err, s.written(), s.records("accOutbox"))
	}
	results, err := s.Compare(t.Context(), records...)
	if err != nil || !results[0].Repeated || results[1].Repeated {
		t.Errorf("compare: %+v, %v", results, err)
	}
	records, err = commit(credited(2, 5))
	if status.Code(err) != codes.AlreadyExists {
		t.Fatalf("colliding commit: %v", err)
	}
	if _, err := s.Compare(t.Context(), records...); !errors.As(err, new(*outbox.CollisionError)) {
		t.Errorf("compare a collision: %v", err)
	}
}

// A BulkWriter writes each record by itself.
func TestBulkWriter(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	s.mustAppend(credited(1, 1))
	records, err := s.Records(t.Context(), credited(1, 1), credited(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	bulk := s.client.BulkWriter(t.Context())
	var codesOf []codes.Code
	var jobs []*firestore.BulkWriterJob
	for _, r := range records {
		job, err := bulk.Create(r.Document, r.Data())
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	bulk.End()
	for _, job := range jobs {
		_, err := job.Results()
		codesOf = append(codesOf, status.Code(err))
	}
	if diff := cmp.Diff([]codes.Code{codes.AlreadyExists, codes.OK}, codesOf); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// A commit whose answer is lost is tried again by the client, and meets itself: the
// outcome is one record, and the caller can tell.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	s := onEmbedded(t)
	s.server.Faults().Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true})
	event := credited(1, 1)
	_, err := s.append(t.Context(), event)
	t.Logf("append: %v", err)
	records, err := s.Records(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Compare(t.Context(), records...)
	if err != nil || !results[0].Repeated {
		t.Errorf("compare: %+v, %v", results, err)
	}
	if s.records("accOutbox") != 1 || s.written() != 1 {
		t.Errorf("%d records, %d business writes, want one of each", s.records("accOutbox"), s.written())
	}
}
