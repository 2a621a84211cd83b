package main

import (
	"context"
	"fmt"
	"strconv"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/relay/postgres/publisher"
)

// listCmd lists what is not published.
type listCmd struct {
	Parked      bool   `help:"Only those whose attempts are used up."`
	JSON        bool   `name:"json" help:"As JSON."`
	Limit       int    `default:"100" placeholder:"N" help:"The oldest N."`
	MaxAttempts string `env:"PACKFINDERZ_OUTBOX_MAX_ATTEMPTS" default:"10" placeholder:"N" help:"As the publisher has it."`

	databaseFlags
}

// Validate names what is wrong with the flags.
func (c *listCmd) Validate() error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit is %d, want at least 1", c.Limit)
	}
	return nil
}

// Run prints them.
func (c *listCmd) Run(ctx context.Context, p shell.Process) error {
	attempts, err := numberWithin("PACKFINDERZ_OUTBOX_MAX_ATTEMPTS (--max-attempts)", c.MaxAttempts, 1, 1000)
	pool, err := c.open(ctx, p.Env, err)
	if err != nil {
		return err
	}
	defer pool.Close()
	rows, err := publisher.List(ctx, pool, c.Parked, attempts, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		if rows == nil {
			rows = []publisher.Waiting{}
		}
		return shell.WriteJSON(p.Stdout, rows)
	}
	table := shell.NewTable(p.Stdout, "ID", "EVENT", "AGGREGATE", "CREATED", "ATTEMPTS", "STATE", "LAST ERROR")
	for _, r := range rows {
		state, last := "waiting", ""
		if r.Parked {
			state = "parked"
		}
		if r.LastError != nil {
			last = *r.LastError
		}
		table.Row(r.ID.String(), r.EventType, r.AggregateType+"/"+r.AggregateID.String(), r.CreatedAt, strconv.Itoa(r.Attempts), state, last)
	}
	return table.Flush()
}
