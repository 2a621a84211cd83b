// Command orders is a whole producer: an order and its event are committed together, or not at all.
//
//	DATABASE_URL=postgres://… orders 12.50
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/gorm"

	"outboxrelay/relay/postgres"
)

// order is a row of the producer's own table, and the data of its event.
type order struct {
	ID    string  `json:"orderId" gorm:"type:uuid;primaryKey"`
	Total float64 `json:"total"`
}

func (o order) created() postgres.Event {
	return postgres.Event{Type: postgres.OrderCreated, AggregateType: postgres.AggregateVendorOrder, AggregateID: o.ID, Data: o}
}

// place stores an order with its event, by pgx.
func place(ctx context.Context, pool *pgxpool.Pool, o order) (event uuid.UUID, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2)", o.ID, o.Total); err != nil {
			return err
		}
		event, err = postgres.Append(ctx, tx, o.created())
		return err
	})
	return event, err
}

// placeGORM does the same by GORM.
func placeGORM(ctx context.Context, db *gorm.DB, o order) (event uuid.UUID, err error) {
	err = db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Table("orders").Create(&o).Error; err != nil {
			return err
		}
		event, err = postgres.AppendGORM(ctx, tx, o.created())
		return err
	})
	return event, err
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Getenv("DATABASE_URL"), os.Stdout); err != nil {
		log.Fatal("orders: ", err)
	}
}

func run(ctx context.Context, args []string, url string, out io.Writer) error {
	if url == "" || len(args) == 0 {
		return errors.New("want DATABASE_URL, and the total of each order as an argument")
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY, total double precision NOT NULL)"); err != nil {
		return err
	}
	for _, arg := range args {
		total, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return fmt.Errorf("total %q is no number", arg)
		}
		o := order{ID: uuid.NewString(), Total: total}
		event, err := place(postgres.WithActor(ctx, postgres.ActorRef{Type: "service", ID: "orders"}), pool, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "order %s is placed, event %s\n", o.ID, event)
	}
	return nil
}
