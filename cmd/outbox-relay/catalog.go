package main

import (
	"context"
	"fmt"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
)

// catalogFlags choose the catalog.
type catalogFlags struct {
	Catalog string `env:"CATALOG" placeholder:"FILE" help:"Catalog file; without it the built-in default."`
}

// envCatalog names the catalog's file where no flag does.
const envCatalog = "CATALOG"

// load reads the catalog. A fault in it is the caller's to mend, like a flag's. That the variable names
// it is told: whoever set it may know nothing of the flag.
func (f catalogFlags) load(env shell.Lookup) (*contracts.Catalog, error) {
	catalog, err := loadCatalog(f.Catalog)
	if err != nil && f.Catalog != "" && f.Catalog == env.Get(envCatalog) {
		err = shell.Usagef("environment variable %s: %w", envCatalog, err)
	}
	return catalog, err
}

// loadCatalog reads the catalog of a file; "" is the built-in default.
func loadCatalog(file string) (*contracts.Catalog, error) {
	catalog, err := contracts.LoadCatalog(file)
	if err != nil {
		return nil, shell.Exit(shell.ExitUsage, fmt.Errorf("load catalog: %w", err))
	}
	return catalog, nil
}

// catalogCmd groups what can be asked of a catalog.
type catalogCmd struct {
	Validate catalogValidateCmd `cmd:"" help:"Check a catalog: every fault with its line, and warnings."`
	Print    catalogPrintCmd    `cmd:"" help:"Print the catalog with all defaults filled in."`
	Diff     catalogDiffCmd     `cmd:"" help:"Tell what a change of a catalog means for producers, consumers and operators."`

	Node         catalogNodeCmd         `cmd:"" help:"Print the producer's end in TypeScript: a type for each payload, and a class that appends in a transaction."`
	Topics       catalogTopicsCmd       `cmd:"" help:"Print the Pub/Sub topics that the catalog needs, and what their subscriptions need."`
	Indexes      catalogIndexesCmd      `cmd:"" help:"Print the Firestore indexes, exemptions and TTL policies that the service needs, as firestore.indexes.json."`
	Permissions  catalogPermissionsCmd  `cmd:"" help:"Print the IAM permissions that the service needs, each with the call that needs it."`
	Requirements catalogRequirementsCmd `cmd:"" help:"Print topics, indexes and permissions as one JSON document, as deploy/terraform reads it."`
}

// oneCatalog chooses the catalog of a command that is about nothing else.
type oneCatalog struct {
	File string `arg:"" optional:"" help:"Catalog file; without it --catalog, or the built-in default."`
	catalogFlags
}

func (f oneCatalog) load(env shell.Lookup) (*contracts.Catalog, error) {
	if f.File != "" {
		return loadCatalog(f.File)
	}
	return f.catalogFlags.load(env)
}

type catalogValidateCmd struct{ oneCatalog }

func (c *catalogValidateCmd) Run(_ context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	for _, warning := range catalog.Warnings {
		fmt.Fprintln(p.Stderr, "warning:", terminal.Lines(warning))
	}
	events := 0
	for _, outbox := range catalog.Outboxes {
		events += len(outbox.Events)
	}
	_, err = fmt.Fprintf(p.Stdout, "valid: %d outboxes, %d events, %d targets, %d topics, %d warnings\n",
		len(catalog.Outboxes), events, len(catalog.Targets), len(catalog.Topics()), len(catalog.Warnings))
	return err
}

type catalogPrintCmd struct{ oneCatalog }

func (c *catalogPrintCmd) Run(_ context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	return catalog.Print(p.Stdout)
}
