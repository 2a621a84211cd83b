package publisher

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/thorough"
)

func TestPublishesInOrderAndMarks(t *testing.T) {
	for name, upTo := range map[string]int64{"the locked schema": 1, "with all that is optional": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, upTo)
			list := events(7, 40)
			f.append(list...)
			before := f.fixed()
			f.start(f.options())
			f.awaitPublished()
			f.judge(list)
			if got := len(f.shelf.messages()); got != len(list) {
				t.Errorf("%d messages of %d rows", got, len(list))
			}
			if f.count("published_at < created_at OR attempt_count <> 0 OR last_error IS NOT NULL") != 0 {
				t.Error("marks say more than that the rows are published")
			}
			if diff := cmp.Diff(before, f.fixed()); diff != "" {
				t.Errorf("columns that are not the publisher's changed (-before +after):\n%s", diff)
			}
		})
	}
}

// fixed are the columns that nobody may change.
func (f *fixture) fixed() map[uuid.UUID]string {
	f.Helper()
	rows, _ := f.pool.Query(f.Context(), `SELECT id, (event_type, aggregate_type, aggregate_id, payload_json, created_at)::text FROM outbox_events`)
	all := map[uuid.UUID]string{}
	var id uuid.UUID
	var text string
	if _, err := pgx.ForEachRow(rows, []any{&id, &text}, func() error { all[id] = text; return nil }); err != nil {
		f.Fatal(err)
	}
	return all
}

func TestMessage(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	e := event{id: uuid.New(), aggregate: numbered(1), createdAt: time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.FixedZone("", 7200))}
	f.append(e)
	f.start(f.options())
	f.awaitPublished()
	m := f.shelf.messages()[0]
	want := map[string]string{
		"event_id": e.id.String(), "event_type": "order_created", "aggregate_type": "vendor_order",
		"aggregate_id": e.aggregate.String(), "created_at": "2026-01-02T01:04:05.6789Z",
	}
	if !maps.Equal(m.Attributes, want) || m.OrderingKey != e.aggregate.String() {
		t.Errorf("attributes are %v under key %s, want %v", m.Attributes, m.OrderingKey, want)
	}
	var data map[string]any
	if err := json.Unmarshal(m.Data, &data); err != nil || data["eventId"] != e.id.String() {
		t.Errorf("data is %s: %v", m.Data, err)
	}
}

// A notification wakes the publisher, whose poll alone would take an hour.
func TestNotificationWakes(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Poll = time.Hour
	f.start(o)
	for range 3 {
		f.append(events(1, 1)...)
		f.awaitPublished()
	}
}

// What is under way at the stop is acknowledged and marked; nothing new is begun.
func TestStopDrains(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(1, 3)
	f.append(list...)
	under, goOn := make(chan struct{}, 1), make(chan struct{})
	f.shelf.before(func(context.Context) { under <- struct{}{}; <-goOn })
	_, stop := f.start(f.options())
	select {
	case <-under:
	case <-time.After(patience):
		t.Fatal("nothing is published")
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	close(goOn)
	<-stopped
	f.judge(list)
	if left := f.count("published_at IS NULL"); left != 0 {
		t.Errorf("%d rows have no mark", left)
	}
}

func TestSeveralPublishersShareAndKeepTheOrder(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(25, 40)
	f.append(list...)
	for range 4 {
		o := f.options()
		o.Batch = 10
		o.Pool = f.connect(nil)
		f.start(o)
	}
	more := events(25, 10)
	f.append(more...)
	f.awaitPublished()
	f.judge(slices.Concat(list, more))
	if got := len(f.shelf.messages()); got != len(list)+len(more) {
		t.Errorf("%d messages of %d rows, though nobody died", got, len(list)+len(more))
	}
}

// One aggregate's backlog in front of all keeps neither other aggregates nor other publishers from work.
func TestBacklogOfOneAggregate(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	f := setup(t, 0)
	f.backlog(5000, numbered(99))
	list := events(20, 1)
	f.append(list...)
	reached, release := f.stall()
	f.start(f.options()) // has the head of the backlog
	f.Cleanup(release)
	<-reached
	o := f.options()
	o.Pool = f.connect(nil)
	f.start(o)
	f.Cleanup(release)
	f.await("what is behind is published", func() bool {
		return f.count("aggregate_id <> $1 AND published_at IS NOT NULL", numbered(99)) == len(list)
	})
	release()
}

// backlog inserts n rows of an aggregate, older than anything else.
func (f *fixture) backlog(n int, aggregate uuid.UUID) {
	f.Helper()
	if _, err := f.pool.Exec(f.Context(), `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
		SELECT gen_random_uuid(), 'order_created', 'vendor_order', $2, '{}', now() - interval '1 day' + n * interval '1 ms' FROM generate_series(1, $1::int) n`, n, aggregate); err != nil {
		f.Fatal(err)
	}
}
