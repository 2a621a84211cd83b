package dlq_test

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
)

// topic stands for domain-errors.
type topic struct {
	mu        sync.Mutex
	published []message
	fail      func(n int) error // of the n-th call, from 1; nil: none fails
	calls     int
}

type message struct {
	data       []byte
	attributes map[string]string
}

func (p *topic) Publish(_ context.Context, data []byte, attributes map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.fail != nil {
		if err := p.fail(p.calls); err != nil {
			return err
		}
	}
	p.published = append(p.published, message{data, attributes})
	return nil
}

func (p *topic) messages() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.published)
}

// alerts reads domain-error-log.
func (f *fixture) alerts() []*dlq.Alert {
	f.t.Helper()
	docs, err := f.store.Query(f.t.Context(), dlq.Query{Collection: contracts.CollectionErrorLog, Limit: 1000})
	if err != nil {
		f.t.Fatal(err)
	}
	var out []*dlq.Alert
	for _, d := range docs {
		out = append(out, dlq.DecodeAlert(d))
	}
	return out
}

// allMarked reports whether so many alerts stand there and all were published.
func (f *fixture) allMarked(n int) bool {
	all := f.alerts()
	return len(all) == n && !slices.ContainsFunc(all, func(a *dlq.Alert) bool { return a.PublishedAt.IsZero() })
}

type topicExcept struct {
	topic
	deadLetter string
}

func (p *topicExcept) Publish(ctx context.Context, data []byte, attributes map[string]string) error {
	if attributes["deadLetter"] == p.deadLetter {
		return errors.New("invalid argument")
	}
	return p.topic.Publish(ctx, data, attributes)
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
func (f *fixture) crash(topic dlq.Alerts, match func(dlq.Write) bool) {
	f.t.Helper()
	store := &crashing{Store: f.store, match: match, died: make(chan struct{})}
	config := f.config
	config.Log = nil
	config.Grace = time.Millisecond
	fr, err := dlq.NewFreezer(f.newQueue(store), f.lanes, topic, config)
	stop := f.start(fr, err)
	select {
	case <-store.died:
	case <-time.After(90 * time.Second):
		f.t.Fatal("it never came so far")
	}
	stop()
}

// hold writes held records of an aggregate.
func (f *fixture) hold(outbox, eventType, aggregate string, n int) {
	f.t.Helper()
	var writes []dlq.Write
	for v := range n {
		i := f.letter(outbox, eventType, aggregate, int64(v+10))
		record := dlqtest.Record(i)
		record["status"] = string(contracts.Held)
		writes = append(writes, dlq.Write{Collection: outbox, ID: i.ID, Op: dlq.OpSet, Fields: record})
	}
	if _, err := f.store.Commit(f.t.Context(), writes); err != nil {
		f.t.Fatal(err)
	}
}

// having counts the records of an aggregate that have a status, over all outboxes.
func (f *fixture) having(aggregate string, status contracts.Status) (n int64) {
	f.t.Helper()
	for _, o := range f.catalog.Outboxes {
		c, err := f.store.Count(f.t.Context(), dlq.Query{Collection: o.Name, Where: []dlq.Where{
			{Field: contracts.FieldAggregateID, Op: "==", Value: aggregate}, {Field: contracts.FieldStatus, Op: "==", Value: string(status)},
		}})
		if err != nil {
			f.t.Fatal(err)
		}
		n += c
	}
	return n
}

func (f *fixture) frozen(aggregate string) bool {
	f.t.Helper()
	all, err := f.queue.FreezesOf(f.t.Context(), aggregate)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(all) > 0
}

func (f *fixture) release(aggregate string) {
	f.t.Helper()
	if _, err := f.queue.Release(f.t.Context(), aggregate, dlq.Release{Actor: security, Reason: "looked into"}); err != nil {
		f.t.Fatal(err)
	}
}

// releases counts the audit entries of finished releases.
func (f *fixture) releases(aggregate string) int {
	f.t.Helper()
	p, err := f.queue.Audit(f.t.Context(), dlq.AuditFilter{On: aggregate, Action: "released"}, dlq.Page{})
	if err != nil {
		f.t.Fatal(err)
	}
	return len(p.Items)
}

func TestReleaseTurnsBackWhatIsHeld(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.die("accOutbox", "RoleChanged", "acc-2", 1)
	f.hold("accOutbox", "AccountCreated", "acc-1", 450)
	f.hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.hold("wsOutbox", "TaskDone", "acc-2", 2)
	f.freezer(&topic{})
	f.release("acc-1")
	f.eventually("the freeze is gone", func() bool { return !f.frozen("acc-1") })
	if n := f.having("acc-1", contracts.Pending); n != 453 {
		t.Errorf("%d records pending, want 453", n)
	}
	if n := f.having("acc-1", contracts.Held); n != 0 {
		t.Errorf("%d records held, want none", n)
	}
	if n := f.having("acc-2", contracts.Held); n != 2 || !f.frozen("acc-2") {
		t.Errorf("the other aggregate: %d held, frozen %t; want 2, true", n, f.frozen("acc-2"))
	}
	if n := f.releases("acc-1"); n != 1 {
		t.Errorf("%d audit entries of the release, want 1", n)
	}
	f.eventually("it is counted", func() bool { return f.counter("relay_dlq_releases_total", "done") == 1 })
	if got := f.counter("relay_dlq_released_records_total"); got != 453 {
		t.Errorf("counted %v records, want 453", got)
	}
}

func TestReleaseGoesOnAfterACrash(t *testing.T) {
	for name, match := range map[string]func(dlq.Write) bool{
		"before anything":     func(w dlq.Write) bool { return w.Collection == "accOutbox" },
		"after one outbox":    func(w dlq.Write) bool { return w.Collection == "wsOutbox" },
		"before the freeze's": func(w dlq.Write) bool { return w.Op == dlq.OpDelete },
	} {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			f.die("accOutbox", "RoleChanged", "acc-1", 1)
			f.hold("accOutbox", "AccountCreated", "acc-1", 250)
			f.hold("wsOutbox", "TaskDone", "acc-1", 3)
			f.release("acc-1")
			f.crash(&topic{}, match)
			if !f.frozen("acc-1") || f.releases("acc-1") != 0 {
				t.Fatal("the freeze was gone before its end")
			}
			f.freezer(&topic{})
			f.eventually("the freeze is gone", func() bool { return !f.frozen("acc-1") })
			if pending, held := f.having("acc-1", contracts.Pending), f.having("acc-1", contracts.Held); pending != 253 || held != 0 {
				t.Errorf("%d pending, %d held; want 253, 0", pending, held)
			}
			if n := f.releases("acc-1"); n != 1 {
				t.Errorf("%d audit entries of the release, want 1", n)
			}
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
	f.t.Helper()
	fr, err := dlq.NewFreezer(f.newQueue(&meddling{Store: f.store, match: match, first: first}), f.lanes, &topic{}, f.config)
	f.start(fr, err)
}

func TestDeathDuringAReleaseFreezesAgain(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.release("acc-1")
	died := make(chan struct{})
	f.meddle(func(w dlq.Write) bool { return w.Op == dlq.OpDelete }, func() {
		f.die("accOutbox", "RoleChanged", "acc-1", 2)
		close(died)
	})
	<-died
	other := f.die("accOutbox", "RoleChanged", "acc-2", 1) // a release after it shows that the freezer went on
	f.release(other.AggregateID)
	f.eventually("the other freeze is gone", func() bool { return !f.frozen("acc-2") })
	freezes, err := f.queue.FreezesOf(t.Context(), "acc-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(freezes) != 1 || freezes[0].State != dlq.Frozen {
		t.Errorf("freezes %+v, want it frozen again", freezes)
	}
	if n := f.releases("acc-1"); n != 0 {
		t.Errorf("%d audit entries of the release, want none", n)
	}
}

// TestDeathKeepsWhatItHolds: a release that is under way does not turn back what
// is held since its aggregate died again.
func TestDeathKeepsWhatItHolds(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.release("acc-1")
	died := make(chan struct{})
	f.meddle(func(w dlq.Write) bool { return w.Collection == "wsOutbox" }, func() {
		f.die("accOutbox", "RoleChanged", "acc-1", 2)
		close(died)
	})
	<-died
	if n := f.settles("the release ends", func() int { return int(f.having("acc-1", contracts.Held)) }); n != 3 || !f.frozen("acc-1") {
		t.Errorf("%d held, frozen %t; want 3, true", n, f.frozen("acc-1"))
	}
	if n := f.releases("acc-1"); n != 0 {
		t.Errorf("%d audit entries of a release's end, want none", n)
	}
}

func TestRecordChangedUnderneathIsReadAgain(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "RoleChanged", "acc-1", 1)
	f.hold("wsOutbox", "TaskDone", "acc-1", 3)
	f.release("acc-1")
	f.meddle(func(w dlq.Write) bool { return w.Collection == "wsOutbox" }, func() {
		docs, err := f.store.Query(t.Context(), dlq.Query{Collection: "wsOutbox", Limit: 1})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := f.store.Commit(t.Context(), []dlq.Write{{Collection: "wsOutbox", ID: docs[0].ID, Fields: map[string]any{"status": string(contracts.Delivered)}}}); err != nil {
			t.Error(err)
		}
	})
	f.eventually("the freeze is gone", func() bool { return !f.frozen("acc-1") })
	if pending, delivered := f.having("acc-1", contracts.Pending), f.having("acc-1", contracts.Delivered); pending != 2 || delivered != 1 {
		t.Errorf("%d records pending, %d delivered; want 2 and the one that was changed", pending, delivered)
	}
}

func TestFreezerReplaysWhatIsAuthorized(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "RoleChanged", "acc-1", 1)
	other := f.letter("accOutbox", "RoleChanged", "acc-2", 1)
	other.NextReplayAt = other.DeadAt // though nobody authorized it
	f.bury(other)
	f.freezer(&topic{})
	f.decide(i.ID, dlq.Authorize, security)
	f.decide(i.ID, dlq.Replay, operator)
	f.reaches(i.ID, contracts.DeadReplayed)
	if n := f.lanes.count(other.ID); n != 0 {
		t.Errorf("%d replays of a blocked one, want none", n)
	}
}
