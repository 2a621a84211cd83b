package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/cmd/outbox-relay/shell"
)

// databaseFlags name the database. It has no flag, as its URL holds a password, which the list of processes
// would show.
type databaseFlags struct{}

const envDatabase = "DATABASE_URL"

// maxConnections are those of a round, of a look at readiness or metrics, and one to spare.
const maxConnections = 4

// connectWithin is how long one address may take where the URL says nothing (connect_timeout), or 0, which to libpq is without end: a
// connection that hangs so would keep its place of the pool for ever. Some of them fit
// into what a round may take for its claim; the pool's own are two minutes, in which what hangs holds a place of it.
const connectWithin = 5 * time.Second

// config reads DATABASE_URL. Nothing that it says repeats the URL, which holds a password.
func (databaseFlags) config(env shell.Lookup) (*pgxpool.Config, error) {
	text := env.Get(envDatabase)
	if text == "" {
		return nil, fmt.Errorf("no database: set %s to postgres://USER:PASSWORD@HOST:PORT/DATABASE", envDatabase)
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: want postgres://USER:PASSWORD@HOST:PORT/DATABASE", envDatabase)
	}
	config.MaxConns = max(config.MaxConns, maxConnections)
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectWithin
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = name
	}
	config.AfterConnect = speakUTF8
	return config, nil
}

// speakUTF8 has the database translate what it has, which it does not by itself where its encoding is another: a message is
// UTF-8. One of SQL_ASCII knows no characters, and would refuse to read any row where one holds bytes that are not UTF-8.
func speakUTF8(ctx context.Context, conn *pgx.Conn) error {
	if c := conn.PgConn(); c.ParameterStatus("server_encoding") == "SQL_ASCII" || c.ParameterStatus("client_encoding") == "UTF8" {
		return nil
	}
	if _, err := conn.Exec(ctx, "SET client_encoding = 'UTF8'"); err != nil {
		return fmt.Errorf("ask for UTF-8: %w", err)
	}
	return nil
}

// open reads the URL and makes a pool, which connects when it is used. The caller closes it.
func (f databaseFlags) open(ctx context.Context, env shell.Lookup, others ...error) (*pgxpool.Pool, error) {
	config, err := f.config(env)
	if err := errors.Join(append([]error{err}, others...)...); err != nil {
		return nil, shell.Exit(shell.ExitUsage, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return pool, nil
}
