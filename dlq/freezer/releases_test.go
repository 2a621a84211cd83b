package freezer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/freezer"
)

type topicExcept struct {
	dlqtest.Topic
	deadLetter string
}

func (p *topicExcept) Publish(ctx context.Context, data []byte, attributes map[string]string) error {
	if attributes["deadLetter"] == p.deadLetter {
		return errors.New("invalid argument")
	}
	return p.Topic.Publish(ctx, data, attributes)
}

// crashing is a Store whose commits fail once, as if the process had died.
type crashing struct {
	dlq.Store
	mu    sync.Mutex
	match func(dlq.Write) bool
	died  chan struct{} // closed at the first match, from when on nothing is committed
}

func (c *crashing) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	c.mu.Lock()
	select {
	case <-c.died:
		c.mu.Unlock()
		return time.Time{}, errors.New("the process is dead")
	default:
	}
	if slices.ContainsFunc(writes, c.match) {
		close(c.died)
		c.mu.Unlock()
		return time.Time{}, errors.New("the process died")
	}
	c.mu.Unlock()
	return c.Store.Commit(ctx, writes)
}

// crash runs a freezer until it would commit a write that matches, and is dead then.
func (f *fixture) crash(topic freezer.Alerts, match func(dlq.Write) bool) {
	f.T.Helper()
	store := &crashing{Store: f.Store, match: match, died: make(chan struct{})}
	config := f.Config
	config.Log = nil
	config.Grace = time.Millisecond
	fr, err := dlqtest.Freezer(f.NewQueue(store), f.Lanes, topic, config)
	stop := f.Start(fr, err)
	select {
	case <-store.died:
	case <-time.After(90 * time.Second):
		f.T.Fatal("it never came so far")
	}
	stop()
}

func TestReleaseTurnsBackWhatIsHeld(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Die("accOutbox", "RoleChanged", "acc-2", 1)
	f.Hold("accOutbox", "AccountCreated", "acc-1", 450)
	f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.Hold("wsOutbox", "TaskDone", "acc-2", 2)
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
	if n := f.Having("acc-1", contracts.Pending); n != 453 {
		t.Errorf("%d records pending, want 453", n)
	}
	if n := f.Having("acc-1", contracts.Held); n != 0 {
		t.Errorf("%d records held, want none", n)
	}
	if n := f.Having("acc-2", contracts.Held); n != 2 || !f.Frozen("acc-2") {
		t.Errorf("the other aggregate: %d held, frozen %t; want 2, true", n, f.Frozen("acc-2"))
	}
	if n := f.Releases("acc-1"); n != 1 {
		t.Errorf("%d audit entries of the release, want 1", n)
	}
	f.Eventually("it is counted", func() bool { return f.Counter("relay_dlq_releases_total", "done") == 1 })
	if got := f.Counter("relay_dlq_released_records_total"); got != 453 {
		t.Errorf("counted %v records, want 453", got)
	}
}

func TestReleaseGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func(dlq.Write) bool{
		"before anything":     func(w dlq.Write) bool { return w.Collection == "accOutbox" },
		"after one outbox":    func(w dlq.Write) bool { return w.Collection == "wsOutbox" },
		"before the freeze's": func(w dlq.Write) bool { return w.Op == dlq.OpDelete },
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			f.Die("accOutbox", "RoleChanged", "acc-1", 1)
			f.Hold("accOutbox", "AccountCreated", "acc-1", 250)
			f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
			f.Release("acc-1")
			f.crash(&dlqtest.Topic{}, match)
			if !f.Frozen("acc-1") || f.Releases("acc-1") != 0 {
				t.Fatal("the freeze was gone before its end")
			}
			f.Freezer(&dlqtest.Topic{})
			f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
			if pending, held := f.Having("acc-1", contracts.Pending), f.Having("acc-1", contracts.Held); pending != 253 || held != 0 {
				t.Errorf("%d pending, %d held; want 253, 0", pending, held)
			}
			if n := f.Releases("acc-1"); n != 1 {
				t.Errorf("%d audit entries of the release, want 1", n)
			}
			f.told("acc-1", 253)
		})
	}
}

// meddling is a Store in which somebody else commits before a commit that matches, once.
type meddling struct {
	dlq.Store
	match func(dlq.Write) bool
	first func()
	once  sync.Once
}

func (m *meddling) Commit(ctx context.Context, writes []dlq.Write) (time.Time, error) {
	if slices.ContainsFunc(writes, m.match) {
		m.once.Do(m.first)
	}
	return m.Store.Commit(ctx, writes)
}

func (f *fixture) meddle(match func(dlq.Write) bool, first func()) {
	f.T.Helper()
	fr, err := dlqtest.Freezer(f.NewQueue(&meddling{Store: f.Store, match: match, first: first}), f.Lanes, &dlqtest.Topic{}, f.Config)
	f.Start(fr, err)
}

func TestDeathDuringAReleaseFreezesAgain(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.Release("acc-1")
	died := make(chan struct{})
	f.meddle(func(w dlq.Write) bool { return w.Op == dlq.OpDelete }, func() {
		f.Die("accOutbox", "RoleChanged", "acc-1", 2)
		close(died)
	})
	<-died
	other := f.Die("accOutbox", "RoleChanged", "acc-2", 1) // a release after it shows that the freezer went on
	f.Release(other.AggregateID)
	f.Eventually("the other freeze is gone", func() bool { return !f.Frozen("acc-2") })
	freezes, err := f.Queue.FreezesOf(t.Context(), "acc-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(freezes) != 1 || freezes[0].State != dlq.Frozen {
		t.Errorf("freezes %+v, want it frozen again", freezes)
	}
	if n := f.Releases("acc-1"); n != 0 {
		t.Errorf("%d audit entries of the release, want none", n)
	}
}

// TestDeathKeepsWhatItHolds: a release that is under way does not turn back what
// is held since its aggregate died again. That ends it, and is no failure.
func TestDeathKeepsWhatItHolds(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.Release("acc-1")
	died := make(chan struct{})
	f.meddle(func(w dlq.Write) bool { return w.Collection == "wsOutbox" }, func() {
		f.Die("accOutbox", "RoleChanged", "acc-1", 2)
		close(died)
	})
	<-died
	other := f.Die("accOutbox", "RoleChanged", "acc-2", 1) // a release after it shows that this one ended
	f.Release(other.AggregateID)
	f.Eventually("the other freeze is gone", func() bool { return !f.Frozen("acc-2") })
	if n := f.Having("acc-1", contracts.Held); n != 3 || !f.Frozen("acc-1") {
		t.Errorf("%d held, frozen %t; want 3, true", n, f.Frozen("acc-1"))
	}
	if n := f.Releases("acc-1"); n != 0 {
		t.Errorf("%d audit entries of a release's end, want none", n)
	}
	if n := f.Counter("relay_dlq_releases_total", "failed"); n != 0 {
		t.Errorf("%v releases counted as failed, want none: this one is left to the new freeze", n)
	}
}

func TestRecordChangedUnderneathIsReadAgain(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.Release("acc-1")
	f.meddle(func(w dlq.Write) bool { return w.Collection == "wsOutbox" }, func() {
		docs, err := f.Store.Query(t.Context(), dlq.Query{Collection: "wsOutbox", Limit: 1})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: "wsOutbox", ID: docs[0].ID, Fields: map[string]any{"status": string(contracts.Delivered)}}}); err != nil {
			t.Error(err)
		}
	})
	f.Eventually("the freeze is gone", func() bool { return !f.Frozen("acc-1") })
	if pending, delivered := f.Having("acc-1", contracts.Pending), f.Having("acc-1", contracts.Delivered); pending != 2 || delivered != 1 {
		t.Errorf("%d records pending, %d delivered; want 2 and the one that was changed", pending, delivered)
	}
}

func TestFreezerReplaysWhatIsAuthorized(t *testing.T) {
	f := setup(t)
	i := f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	other := f.Letter("accOutbox", "RoleChanged", "acc-2", 1)
	other.NextReplayAt = other.DeadAt // though nobody authorized it
	f.Bury(other)
	f.Freezer(&dlqtest.Topic{})
	f.Decide(i.ID, dlq.Authorize, dlqtest.Security)
	f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	f.Reaches(i.ID, contracts.DeadReplayed)
	if n := f.Lanes.Count(other.ID); n != 0 {
		t.Errorf("%d replays of a blocked one, want none", n)
	}
}
