package outbox_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts/outbox"
)

// What Firestore would refuse at the commit, with the business write in it, is named
// before anything is written.
func TestEmitNamesWhatFirestoreRefuses(t *testing.T) {
	s := onEmbedded(t)
	for field, change := range map[string]func(*outbox.DomainEvent, *outbox.Job){
		"orgId":               func(e *outbox.DomainEvent, _ *outbox.Job) { e.OrgID = "a\xff" },
		"entityId":            func(e *outbox.DomainEvent, _ *outbox.Job) { e.EntityID = "a\xff" },
		"actor":               func(e *outbox.DomainEvent, _ *outbox.Job) { e.Actor = "a\xff" },
		"visibility":          func(e *outbox.DomainEvent, _ *outbox.Job) { e.Visibility = "a\xff" },
		"eventId":             func(e *outbox.DomainEvent, _ *outbox.Job) { e.ID = "a\xff" },
		"timestamp":           func(e *outbox.DomainEvent, _ *outbox.Job) { e.Timestamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"payload.a":           func(e *outbox.DomainEvent, _ *outbox.Job) { e.Payload = map[string]any{"a": "b\xff"} },
		"payload":             func(e *outbox.DomainEvent, _ *outbox.Job) { e.Payload = map[string]any{"a\xff": "b"} },
		"jobs[0].recipientId": func(_ *outbox.DomainEvent, j *outbox.Job) { j.RecipientID = "a\xff" },
	} {
		e, j := matterCreated(), toAnn
		change(&e, &j)
		_, err := s.emit(e, j)
		if _, ok := errors.AsType[*outbox.InvalidError](err); !ok || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: Emit = %v", field, err)
		}
	}
	if s.written() != 0 {
		t.Error("a business write was committed")
	}
}

// A repeat is one whatever its payload holds.
func TestEmitRepeatsAnyPayload(t *testing.T)         { repeatsAny(t, onEmbedded(t)) }
func TestEmitRepeatsAnyPayloadOnGoogle(t *testing.T) { repeatsAny(t, onGoogle(t)) }

func repeatsAny(t *testing.T, s *slice) {
	e := matterCreated()
	e.Payload = map[string]any{
		"now": time.Now(), "nan": math.NaN(), "zero": math.Copysign(0, -1), "whole": 1.0, "bytes": []byte(nil), "none": []byte{}, "empty": []any{},
		"null": nil, "list": []string{"a"}, "deep": map[string]any{"a": []any{map[string]any{}}},
	}
	for try := range 2 {
		if out, err := s.emit(e, toAnn); err != nil || out.Repeated != (try > 0) {
			t.Errorf("try %d: %+v, %v", try, out, err)
		}
	}
	// 1.0 of a producer in another language is 1.
	e.Payload.(map[string]any)["whole"] = 1
	if out, err := s.emit(e, toAnn); err != nil || !out.Repeated {
		t.Errorf("with a whole number: %+v, %v", out, err)
	}
}

// Several at once emit one event and one job.
func TestEmitAtOnce(t *testing.T)         { emitsAtOnce(t, onEmbedded(t)) }
func TestEmitAtOnceOnGoogle(t *testing.T) { emitsAtOnce(t, onGoogle(t)) }

func emitsAtOnce(t *testing.T, s *slice) {
	const together = 5
	var wg sync.WaitGroup
	var mu sync.Mutex
	first := 0
	for range together {
		wg.Go(func() {
			var out *outbox.Emitted
			err := s.client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) (err error) {
				out, err = outbox.Emit(ctx, s.client, tx, matterCreated(), toAnn)
				return err
			}, firestore.MaxAttempts(50))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if !out.Repeated && !out.Jobs[0].Repeated {
				first++
			}
		})
	}
	wg.Wait()
	if events, jobs := s.records(outbox.DomainEvents), s.records(outbox.Jobs); events != 1 || jobs != 1 || first != 1 {
		t.Errorf("%d events and %d jobs, and %d who created them, want one of each", events, jobs, first)
	}
}
