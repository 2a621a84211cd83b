package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/requirements"
)

// needFlags choose the catalog whose requirements are printed, as serve would run it.
type needFlags struct {
	catalogFlags
	standInFlags
	jobsTopicFlag
}

func (f needFlags) requirements(env shell.Lookup) (*requirements.Requirements, error) {
	catalog, err := f.load(env)
	if err != nil {
		return nil, err
	}
	if catalog, err = f.apply(catalog); err != nil {
		return nil, err
	}
	if catalog, err = f.with(catalog); err != nil {
		return nil, err
	}
	return requirements.Of(catalog), nil
}

type catalogTopicsCmd struct {
	needFlags
	JSON   bool `xor:"form" help:"Print each topic with what its subscription needs, as JSON."`
	Gcloud bool `xor:"form" help:"Print the gcloud commands that make the topics, a subscription to each, and their dead-letter topics."`
}

// Help is the long text of catalog topics --help.
func (c *catalogTopicsCmd) Help() string {
	return `One name a line. With --json also what a subscription needs: message ordering (fixed when it is made; records of an aggregate lose their order without it), acknowledgement deadline, retention, retry backoff, a dead-letter topic and its own subscription (such a topic without one loses what it gets).`
}

func (c *catalogTopicsCmd) Run(_ context.Context, p shell.Process) error {
	r, err := c.requirements(p.Env)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return shell.WriteJSON(p.Stdout, r.Topics)
	case c.Gcloud:
		return r.WriteTopicCommands(p.Stdout)
	}
	for _, topic := range r.Topics {
		if _, err := fmt.Fprintln(p.Stdout, topic.Name); err != nil {
			return err
		}
	}
	return nil
}

type catalogIndexesCmd struct{ catalogFlags }

func (c *catalogIndexesCmd) Run(_ context.Context, p shell.Process) error {
	catalog, err := c.load(p.Env)
	if err != nil {
		return err
	}
	return requirements.IndexesOf(catalog).Write(p.Stdout)
}

type catalogPermissionsCmd struct {
	needFlags
	JSON bool `help:"Print JSON."`
}

func (c *catalogPermissionsCmd) Run(_ context.Context, p shell.Process) error {
	r, err := c.requirements(p.Env)
	if err != nil {
		return err
	}
	if c.JSON {
		return shell.WriteJSON(p.Stdout, r.Permissions)
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PERMISSION\tWHEN\tROLE THAT GRANTS IT\tCALL")
	for _, need := range r.Permissions {
		when := need.When
		if when == requirements.WhenAlways {
			when = "always"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", need.Name, when, need.Role, need.Call)
	}
	return w.Flush()
}

type catalogRequirementsCmd struct{ needFlags }

func (c *catalogRequirementsCmd) Run(_ context.Context, p shell.Process) error {
	r, err := c.requirements(p.Env)
	if err != nil {
		return err
	}
	return r.Write(p.Stdout)
}
