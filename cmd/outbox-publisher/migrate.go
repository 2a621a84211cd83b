package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/relay/postgres/migrations"
)

// migrateCmd makes and changes the table.
type migrateCmd struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing: all, or up to --to."`
	Down   migrateDown   `cmd:"" help:"Take back the last migration, or all after --to. The first one's is the table with all that is in it."`
	Status migrateStatus `cmd:"" help:"Print which migrations the database has."`
}

type migrateUp struct {
	To *int64 `placeholder:"N" help:"Apply none after this one; 1 is the table alone, as the contract has it."`
	databaseFlags
}

type migrateDown struct {
	To *int64 `placeholder:"N" help:"Take back all after this one; 0 removes the table."`
	databaseFlags
}

type migrateStatus struct{ databaseFlags }

// Run applies migrations.
func (c *migrateUp) Run(ctx context.Context, p shell.Process) error {
	return c.migrate(ctx, p, func(provider *goose.Provider) ([]*goose.MigrationResult, error) {
		if c.To != nil {
			if err := targetWithin(provider, *c.To, 1); err != nil {
				return nil, err
			}
			return provider.UpTo(ctx, *c.To)
		}
		return provider.Up(ctx)
	})
}

// Run takes migrations back.
func (c *migrateDown) Run(ctx context.Context, p shell.Process) error {
	return c.migrate(ctx, p, func(provider *goose.Provider) ([]*goose.MigrationResult, error) {
		if c.To != nil {
			if err := targetWithin(provider, *c.To, 0); err != nil {
				return nil, err
			}
		}
		if err := noneNewer(ctx, provider); err != nil {
			return nil, err
		}
		if c.To != nil {
			return provider.DownTo(ctx, *c.To)
		}
		one, err := provider.Down(ctx)
		if one == nil {
			return nil, err
		}
		return []*goose.MigrationResult{one}, err
	})
}

// targetWithin refuses a --to that is before least or after the last migration.
func targetWithin(provider *goose.Provider, to, least int64) error {
	sources := provider.ListSources() // in the order of their numbers
	if last := sources[len(sources)-1].Version; to < least || to > last {
		return shell.Usagef("--to is %d, want %d to %d", to, least, last)
	}
	return nil
}

// migrate opens the database for f, and prints what f did.
func (f databaseFlags) migrate(ctx context.Context, p shell.Process, do func(*goose.Provider) ([]*goose.MigrationResult, error)) error {
	return f.provide(ctx, p, func(db *sql.DB, provider *goose.Provider) error {
		results, err := do(provider)
		for _, r := range results {
			fmt.Fprintf(p.Stdout, "%s %d (%v)\n", r.Direction, r.Source.Version, r.Duration.Round(time.Millisecond))
		}
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		told, _, err := standing(ctx, provider)
		if err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		fmt.Fprintln(p.Stdout, told)
		return tellInvalid(ctx, db, p.Stdout)
	})
}

// Run prints them.
func (c *migrateStatus) Run(ctx context.Context, p shell.Process) error {
	return c.provide(ctx, p, func(db *sql.DB, provider *goose.Provider) error {
		all, err := provider.Status(ctx)
		if err != nil {
			return fmt.Errorf("read migrations: %w", err)
		}
		table := shell.NewTable(p.Stdout, "MIGRATION", "FILE", "STATE", "APPLIED")
		for _, s := range all {
			at := ""
			if s.State == goose.StateApplied {
				at = s.AppliedAt.UTC().Format(time.RFC3339)
			}
			table.Row(strconv.FormatInt(s.Source.Version, 10), s.Source.Path, string(s.State), at)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		told, newer, err := standing(ctx, provider)
		if err != nil {
			return fmt.Errorf("read migrations: %w", err)
		}
		if newer {
			fmt.Fprintln(p.Stdout, told)
		}
		return tellInvalid(ctx, db, p.Stdout)
	})
}

func (f databaseFlags) provide(ctx context.Context, p shell.Process, do func(*sql.DB, *goose.Provider) error) error {
	pool, err := f.open(ctx, p.Env)
	if err != nil {
		return err
	}
	return provide(pool, do)
}

// provide closes pool behind do.
func provide(pool *pgxpool.Pool, do func(*sql.DB, *goose.Provider) error) error {
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }() // the pool has the connections
	provider, err := migrations.New(db)
	if err != nil {
		return err
	}
	return do(db, provider)
}

// tellInvalid prints which indexes are of no use. Goose counts a migration as applied or not, and knows nothing of
// them.
func tellInvalid(ctx context.Context, db *sql.DB, to io.Writer) error {
	names, err := migrations.InvalidIndexes(ctx, db)
	for _, name := range names {
		fmt.Fprintf(to, "index %s is not valid, so nothing uses it: unless a migrate up is at work, run migrate down --to 3 and migrate up\n", name)
	}
	return err
}
