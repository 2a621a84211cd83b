package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
)

// ways are the adapters: each runs do in a transaction of its own, with its AppendAll.
func ways(t *testing.T, d db) map[string]func(do func(appendAll func(...Event) ([]uuid.UUID, error)) error) error {
	g := d.gorm(t)
	return map[string]func(func(func(...Event) ([]uuid.UUID, error)) error) error{
		"pgx": func(do func(func(...Event) ([]uuid.UUID, error)) error) error {
			return pgx.BeginFunc(d.ctx, d.pool, func(tx pgx.Tx) error {
				return do(func(events ...Event) ([]uuid.UUID, error) { return AppendAll(d.ctx, tx, events...) })
			})
		},
		"database/sql": func(do func(func(...Event) ([]uuid.UUID, error)) error) error {
			tx, err := d.sql.BeginTx(d.ctx, nil)
			if err != nil {
				return err
			}
			if err := do(func(events ...Event) ([]uuid.UUID, error) { return AppendAllSQL(d.ctx, tx, events...) }); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		"GORM": func(do func(func(...Event) ([]uuid.UUID, error)) error) error {
			return g.WithContext(d.ctx).Transaction(func(tx *gorm.DB) error {
				return do(func(events ...Event) ([]uuid.UUID, error) { return AppendAllGORM(d.ctx, tx, events...) })
			})
		},
	}
}

func TestEachWayAppendsWithTheTransaction(t *testing.T) {
	d := setup(t)
	for name, in := range ways(t, d) {
		t.Run(name, func(t *testing.T) {
			aggregate := uuid.NewString()
			event := sample(aggregate)
			event.Actor = &ActorRef{Type: "user", ID: "u-1"}
			event.OccurredAt = time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.FixedZone("", 3600))
			var ids []uuid.UUID
			err := in(func(appendAll func(...Event) ([]uuid.UUID, error)) (err error) {
				ids, err = appendAll(event, sample(aggregate), sample(aggregate))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ids, d.inOrder(t, aggregate)); diff != "" {
				t.Errorf("-appended +stored\n%s", diff)
			}
			var stored OutboxEvent
			if err := d.gorm(t).First(&stored, "id = ?", ids[0]).Error; err != nil {
				t.Fatal(err)
			}
			var envelope OutboxPayloadEnvelope
			if err := json.Unmarshal(stored.PayloadJSON, &envelope); err != nil {
				t.Fatal(err)
			}
			want := OutboxPayloadEnvelope{
				Version: 1, EventID: ids[0].String(), Actor: event.Actor, Data: json.RawMessage(`{"total": 12.50}`),
				OccurredAt: time.Date(2026, 5, 4, 2, 2, 1, 123456000, time.UTC),
			}
			if diff := cmp.Diff(want, envelope); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if stored.PublishedAt != nil || stored.AttemptCount != 0 || stored.LastError != nil || stored.EventType != OrderCreated || stored.AggregateID.String() != aggregate {
				t.Errorf("row is %+v", stored)
			}
			rolledBack := errors.New("no")
			err = in(func(appendAll func(...Event) ([]uuid.UUID, error)) error {
				if _, err := appendAll(sample(aggregate)); err != nil {
					return err
				}
				return rolledBack
			})
			if !errors.Is(err, rolledBack) || len(d.inOrder(t, aggregate)) != 3 {
				t.Errorf("error is %v, and %d events are there; want 3, as before", err, len(d.inOrder(t, aggregate)))
			}
		})
	}
}

func TestSecondAppendOfAnID(t *testing.T) {
	d := setup(t)
	for name, in := range ways(t, d) {
		for _, c := range []struct {
			change  func(*Event)
			differs []string
		}{
			{func(*Event) {}, nil},
			{func(e *Event) { e.OccurredAt = time.Now().Add(time.Hour) }, nil},
			{func(e *Event) { e.Data = map[string]any{"total": 12.5} }, nil},
			{func(e *Event) { e.Data = map[string]any{"total": 13} }, []string{"data"}},
			{func(e *Event) { e.Actor = &ActorRef{"user", "other"} }, []string{"actor"}},
			{func(e *Event) { e.Version = 2 }, []string{"version"}},
			{func(e *Event) { e.Type = OrderCanceled }, []string{"event_type"}},
			{func(e *Event) { e.AggregateType, e.AggregateID = AggregateStore, uuid.NewString() }, []string{"aggregate_type", "aggregate_id"}},
		} {
			aggregate := uuid.NewString()
			event := sample(aggregate)
			event.ID = uuid.New()
			again := event
			c.change(&again)
			if err := in(func(appendAll func(...Event) ([]uuid.UUID, error)) error { _, err := appendAll(event); return err }); err != nil {
				t.Fatal(name, err)
			}
			err := in(func(appendAll func(...Event) ([]uuid.UUID, error)) error {
				ids, err := appendAll(again)
				if err == nil && ids[0] != event.ID {
					t.Errorf("%s: its ID is %s", name, ids[0])
				}
				return err
			})
			var collision *CollisionError
			if !errors.As(err, &collision) && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var differs []string
			if collision != nil {
				differs = collision.Differs
			}
			if diff := cmp.Diff(c.differs, differs); diff != "" {
				t.Errorf("%s: what differs: -want +got\n%s", name, diff)
			}
			if got := d.inOrder(t, aggregate); !slices.Equal(got, []uuid.UUID{event.ID}) {
				t.Errorf("%s: events are %v, want the first alone", name, got)
			}
		}
	}
}

func TestGORMOutsideATransactionIsRefused(t *testing.T) {
	d := setup(t)
	if _, err := AppendGORM(d.ctx, d.gorm(t), sample(uuid.NewString())); !errors.Is(err, ErrNoTransaction) {
		t.Errorf("error is %v, want ErrNoTransaction", err)
	}
	prepared := d.gorm(t).Session(&gorm.Session{PrepareStmt: true})
	err := prepared.Transaction(func(tx *gorm.DB) error { _, err := AppendGORM(d.ctx, tx, sample(uuid.NewString())); return err })
	if err != nil {
		t.Errorf("with prepared statements: %v", err)
	}
	ended := d.gorm(t).Begin()
	ended.Rollback()
	if _, err := AppendGORM(d.ctx, ended, sample(uuid.NewString())); err == nil {
		t.Error("a transaction that is over takes an event")
	}
}

func TestEndedTransactionsAreRefused(t *testing.T) {
	d := setup(t)
	tx := d.begin(t, pgx.TxOptions{})
	d.commit(t, tx)
	if _, err := Append(d.ctx, tx, sample(uuid.NewString())); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("pgx: error is %v, want ErrTxClosed", err)
	}
	other, err := d.sql.BeginTx(d.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	other.Rollback()
	if _, err := AppendSQL(d.ctx, other, sample(uuid.NewString())); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("database/sql: error is %v, want ErrTxDone", err)
	}
}

func TestActorOfTheContext(t *testing.T) {
	ctx := WithActor(context.Background(), ActorRef{"service", "billing"})
	own := sample(uuid.NewString())
	own.Actor = &ActorRef{"user", "u-1"}
	for want, event := range map[string]Event{"billing": sample(uuid.NewString()), "u-1": own} {
		rows, err := check(ctx, []Event{event})
		if err != nil {
			t.Fatal(err)
		}
		var envelope OutboxPayloadEnvelope
		if err := json.Unmarshal(rows[0].payload, &envelope); err != nil || envelope.Actor == nil || envelope.Actor.ID != want {
			t.Errorf("actor is %+v (%v), want %s", envelope.Actor, err, want)
		}
	}
}
