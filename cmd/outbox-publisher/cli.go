package main

import (
	"io"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
)

// What the builder of the image links in; see deploy/cloudrun/image. Any other
// build leaves both empty.
var (
	linkedVersion string
	linkedCommit  string
)

func thisBuild() program.Build { return program.ThisBuild(linkedVersion, linkedCommit) }

// cli is the command line.
type cli struct {
	Version kong.VersionFlag `help:"Print the version and exit."`

	Run     runCmd     `cmd:"" default:"withargs" help:"Publish until told to stop; the default."`
	Local   localCmd   `cmd:"" help:"Run everything on this machine: Postgres, Redis, Pub/Sub, producers, the publisher and a consumer."`
	Migrate migrateCmd `cmd:"" help:"Make the table, change it, or tell which migrations the database has."`
	List    listCmd    `cmd:"" help:"List the rows that are not published."`
	Retry   retryCmd   `cmd:"" help:"Have parked rows published after all."`

	Republish republishCmd `cmd:"" help:"Publish rows once more, for one consumer that gave them up."`
}

const about = `Publishes the rows of outbox_events, in Postgres, to a Pub/Sub topic: each at least once, those of an aggregate in their order.

DATABASE_URL names the database. A flag wins over its variable, which counts as not set where it is empty.

Exit codes: 0 done; 1 failed; 2 flags or environment are wrong; 6 retry: a row is published already, or not there; republish: it is not published yet, or not there.`

func parse(args []string, env shell.Lookup, stdout, stderr io.Writer) (program.Command, error) {
	return program.Parse(program.CLI{Name: name, About: about, Version: thisBuild().Of(name), Flags: &cli{}}, args, env, stdout, stderr)
}
