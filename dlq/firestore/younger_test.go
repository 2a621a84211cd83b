package firestore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// What waits for an older dead letter is due once that has ended, the next one alone.
func testYounger(t *testing.T, f *fixture) {
	const outbox, byPerson, byItself = "orgOutbox", "SkillRecognitionGranted", "MemberJoined"
	deferred := func(i *dlq.Item) *dlq.Item {
		t.Helper()
		if err := f.queue.Defer(t.Context(), f.item(i.ID), f.now.Add(10*time.Minute), "older"); err != nil {
			t.Fatal(err)
		}
		return f.item(i.ID)
	}
	due := func(i *dlq.Item, want bool) {
		t.Helper()
		if got := f.item(i.ID); got.Due(f.now) != want {
			t.Errorf("version %d of %s is to be replayed at %v, now is %v, want it due: %t", i.AggregateVersion, i.AggregateID, got.NextReplayAt, f.now, want)
		}
	}
	die := func(eventType, aggregate string, version int64) *dlq.Item {
		t.Helper()
		return f.die(outbox, eventType, aggregate, version)
	}
	later := func() { f.now = f.now.Add(time.Hour) }

	first, second, third := die(byPerson, "a", 1), die(byItself, "a", 2), die(byItself, "a", 3)
	elsewhere := f.die("wsOutbox", "TaskDone", "a", 2)
	later()
	for _, i := range []*dlq.Item{second, third, elsewhere} {
		deferred(i)
	}
	f.decide(first.ID, dlq.Note, operator)
	due(second, false)
	f.decide(first.ID, dlq.Discard, operator)
	due(second, true)
	due(third, false)
	f.end(second.ID)
	due(third, true)
	due(elsewhere, false)

	first, second, third = die(byPerson, "b", 1), die(byPerson, "b", 2), die(byItself, "b", 3)
	later()
	deferred(third)
	f.decide(first.ID, dlq.Discard, operator)
	due(third, false) // the second waits for a person
	if got := f.item(second.ID); !got.NextReplayAt.IsZero() {
		t.Errorf("one that waits for a person is to be replayed at %v", got.NextReplayAt)
	}
	f.decide(second.ID, dlq.Replay, operator)
	due(third, false)
	f.end(second.ID)
	due(third, true)

	// One that failed by itself waits as long as before.
	first, second = die(byPerson, "c", 1), die(byItself, "c", 2)
	later()
	failed, err := f.queue.End(t.Context(), f.item(second.ID), dlq.Result{Errors: second.Errors, At: f.now})
	if err != nil {
		t.Fatal(err)
	}
	f.decide(first.ID, dlq.Discard, operator)
	if got := f.item(second.ID); !got.NextReplayAt.Equal(failed.NextReplayAt) {
		t.Errorf("one that failed is to be replayed at %v, want %v as before", got.NextReplayAt, failed.NextReplayAt)
	}

	// One that was asked for was due by then, however far this clock is behind the server's.
	second = die(byPerson, "asked", 2)
	f.decide(second.ID, dlq.Replay, operator)
	first = die(byPerson, "asked", 1)
	deferred(second)
	f.decide(first.ID, dlq.Discard, operator)
	due(second, true)

	// A consumer's waits for that consumer's.
	of := func(consumer, eventType string, version int64) *dlq.Item {
		t.Helper()
		i := f.letter(outbox, eventType, "d", version)
		i.Consumer = consumer
		return f.bury(i)
	}
	first, second, third = of("mail", byPerson, 1), of("billing", byPerson, 2), of("mail", byItself, 3)
	fourth := of("billing", byItself, 4)
	later()
	deferred(third)
	deferred(fourth)
	f.decide(first.ID, dlq.Discard, operator)
	due(third, true)
	due(fourth, false)
	f.decide(second.ID, dlq.Discard, operator)
	due(fourth, true)

	// It is put off once more at that moment.
	first, second = die(byPerson, "e", 1), die(byItself, "e", 2)
	later()
	deferred(second)
	meanwhile := &beforeCommit{Store: f.store, id: second.ID, do: func() {
		if err := f.queue.Defer(t.Context(), f.item(second.ID), f.now.Add(5*time.Minute), first.ID); err != nil {
			t.Error(err)
		}
	}}
	if _, err := f.newQueue(meanwhile).Decide(t.Context(), first.ID, dlq.Decide{Action: dlq.Discard, Actor: operator, Reason: "because"}); err != nil {
		t.Fatal(err)
	}
	due(second, true)
}

// beforeCommit is a Store that does something before the first commit of a dead letter.
type beforeCommit struct {
	dlq.Store
	id string
	do func()
}

func (s *beforeCommit) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if do := s.do; do != nil && writes[0].Collection == contracts.CollectionDeadLetters && writes[0].ID == s.id {
		s.do = nil
		do()
	}
	return s.Store.Commit(ctx, writes)
}

// What was decided is told, though what comes next cannot be found.
func TestDecisionOutlivesACallThatHangs(t *testing.T) {
	t.Parallel()
	f := setup(t, newCloud(t))
	i := f.die("orgOutbox", "SkillRecognitionGranted", "a", 1)
	decided, err := f.newQueue(hangs{f.store}).Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Discard, Actor: operator, Reason: "because"})
	if err != nil || decided.Item.State != contracts.DeadDiscarded {
		t.Errorf("got %+v, %v, want it discarded", decided, err)
	}
}

// So is it where what comes next was changed at that moment, and cannot be read again.
func TestDecisionOutlivesACallThatCannotReadAgain(t *testing.T) {
	t.Parallel()
	f := setup(t, newCloud(t))
	first, second := f.die("orgOutbox", "SkillRecognitionGranted", "a", 1), f.die("orgOutbox", "SkillRecognitionGranted", "a", 2)
	if err := f.queue.Defer(t.Context(), f.item(second.ID), f.now.Add(time.Hour), first.ID); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(30 * time.Minute)
	store := &unreadable{id: second.ID}
	store.beforeCommit = beforeCommit{Store: f.store, id: second.ID, do: func() {
		store.now = true
		if err := f.queue.Defer(t.Context(), f.item(second.ID), f.now.Add(time.Hour), first.ID); err != nil {
			t.Error(err)
		}
	}}
	decided, err := f.newQueue(store).Decide(t.Context(), first.ID, dlq.Decide{Action: dlq.Discard, Actor: operator, Reason: "because"})
	if err != nil || decided.Item.State != contracts.DeadDiscarded || !store.asked {
		t.Errorf("got %+v, %v, want it discarded; the other was read again: %t", decided, err, store.asked)
	}
}

// unreadable is a Store of which a document cannot be read any more.
type unreadable struct {
	beforeCommit
	id         string
	now, asked bool
}

func (s *unreadable) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	if s.now && slices.Contains(ids, s.id) {
		s.asked = true
		return nil, context.DeadlineExceeded
	}
	return s.Store.Get(ctx, collection, ids...)
}

// hangs is a Store whose search for younger dead letters has no answer.
type hangs struct{ dlq.Store }

func (s hangs) Query(ctx context.Context, q dlq.Query) ([]dlq.Doc, error) {
	if slices.ContainsFunc(q.Where, func(w dlq.Where) bool { return w.Field == contracts.FieldAggregateVersion && w.Op == ">" }) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Query(ctx, q)
}
