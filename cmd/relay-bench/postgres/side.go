package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/cmd/relay-bench/table"
)

// Command is the hidden command under which the bench runs itself as one of the other sides.
const Command = "postgres-side"

// RunSide is such a side, named by its only argument. It finds database and Pub/Sub by the
// environment, as the publisher does, and runs until ctx ends.
func RunSide(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one argument, the side", Command)
	}
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := pubsub.NewClient(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT"))
	if err != nil {
		return err
	}
	to := client.Publisher(topic)
	to.EnableMessageOrdering = true
	run := runFloor
	switch table.Side(args[0]) {
	case sideFloor:
		to.PublishSettings.DelayThreshold = company
	case sideWatermill:
		to.PublishSettings.CountThreshold = 1 // it hands over one at a time, for which nothing is to wait
		run = runWatermill
	default:
		err = fmt.Errorf("side is %q, want %s or %s", args[0], sideFloor, sideWatermill)
	}
	if err == nil {
		err = run(ctx, pool, to)
	}
	to.Stop()
	if err = errors.Join(err, client.Close()); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}

// company is how long a publish of the floor waits for others of its ordering key.
const company = time.Millisecond
