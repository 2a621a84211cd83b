package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts/node"
)

// catalogNodeCmd writes the producer's end in TypeScript.
type catalogNodeCmd struct {
	Output string `placeholder:"FILE" help:"Write to a file in place of standard output."`
	catalogFlags
}

// Run writes nothing unless it has all of it.
func (c *catalogNodeCmd) Run(_ context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := node.Generate(&text, catalog); err != nil {
		return shell.Exit(shell.ExitUsage, err)
	}
	if c.Output == "" {
		_, err = p.Stdout.Write(text.Bytes())
		return err
	}
	if err := os.WriteFile(c.Output, text.Bytes(), 0o644); err != nil { //nolint:gosec // source code, for everybody to read
		return fmt.Errorf("write TypeScript: %w", err)
	}
	return nil
}
