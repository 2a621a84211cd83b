package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	inboxpostgres "outboxrelay/contracts/inbox/postgres"
	"outboxrelay/deploy/local/postgres"
	"outboxrelay/deploy/local/redis"
)

const postgresVar = "DATABASE_URL"

// startRedis starts a Redis with its socket in dir; "" where none is installed.
func startRedis(ctx context.Context, dir string) (url string, server killer, err error) {
	if !redis.Installed() {
		return "", nil, nil
	}
	started, err := redis.Start(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	return started.URL(), started, nil
}

// startPostgres starts a Postgres with its data and socket in dir; "" where none is installed.
func startPostgres(ctx context.Context, dir string) (url string, server killer, err error) {
	if url := os.Getenv(postgresVar); url != "" {
		return url, nil, nil
	}
	if !postgres.Installed() {
		return "", nil, nil
	}
	started, err := postgres.Start(ctx, dir, "fsync=off")
	if err != nil {
		return "", nil, err
	}
	return started.URL(), started, nil
}

// migrate makes the tables of the inbox and of the effects, empty.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := inboxpostgres.New(pool).Migrate(ctx); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, `
		TRUNCATE inbox_events;
		DROP TABLE IF EXISTS effects;
		CREATE TABLE effects (consumer text NOT NULL, event_id text NOT NULL, aggregate text NOT NULL, version bigint NOT NULL, at bigint NOT NULL)`)
	if err != nil {
		return fmt.Errorf("create the table of effects: %w", err)
	}
	return nil
}
