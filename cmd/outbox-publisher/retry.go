package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/relay/postgres/publisher"
)

// retryCmd has rows tried again.
type retryCmd struct {
	IDs []string `arg:"" name:"id" help:"IDs of rows, as list prints them."`

	databaseFlags
}

// Help is the long text of retry --help.
func (c *retryCmd) Help() string {
	return `Begins the count of a row's attempts anew; its last error stays until the next one. It may be called beside running publishers, which take the row within a few seconds.`
}

// Run retries them all, and tells of each that it cannot.
func (c *retryCmd) Run(ctx context.Context, p shell.Process) error {
	ids, err := parseIDs(c.IDs)
	pool, err := c.open(ctx, p.Env, err)
	if err != nil {
		return err
	}
	defer pool.Close()
	left, err := publisher.Retry(ctx, pool, ids)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%d of %d rows are tried again\n", len(ids)-len(left), len(ids))
	var errs []error
	for _, id := range left {
		errs = append(errs, fmt.Errorf("row %s: published already, or not there", id))
	}
	if len(errs) > 0 {
		return shell.Exit(shell.ExitNotFound, errors.Join(errs...))
	}
	return nil
}

// parseIDs reads IDs of rows, each once, and names all that are none.
func parseIDs(texts []string) (ids []uuid.UUID, err error) {
	for _, text := range texts {
		id, parseErr := uuid.Parse(text)
		if parseErr != nil {
			err = errors.Join(err, fmt.Errorf("%q is no ID of a row, want a UUID", text))
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}
