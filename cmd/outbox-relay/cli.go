package main

import (
	"io"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/operator"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
)

// cli is the command line. The environment variable of a flag stands in its
// env tag; a flag that is given wins over it.
type cli struct {
	Version kong.VersionFlag `help:"Print the version and exit."`

	Local   localCmd       `cmd:"" help:"Run everything on this machine: embedded Firestore, Pub/Sub and Auth, sample producers, consumers and apps, the relay."`
	Serve   serveCmd       `cmd:"" help:"Run the service."`
	Cloud   cloudCmd       `cmd:"" help:"Run only the embedded Firestore, Pub/Sub and Auth, as a process of their own."`
	Doctor  doctorCmd      `cmd:"" help:"Look at what a deployment needs, before it and after, and say what mends it."`
	Cost    costCmd        `cmd:"" help:"Say what a rate of records costs on Google Cloud, and what it needs."`
	Catalog catalogCmd     `cmd:"" help:"Check the catalog, or print what it asks of a deployment."`
	Append  appendCmd      `cmd:"" help:"Append sample or given records to an outbox."`
	DLQ     operator.DLQ   `cmd:"" name:"dlq" help:"Look at dead letters and decide about them, over the admin API of a service."`
	Restore restoreCmd     `cmd:"" help:"Settle what came back into Firestore with an export, so that nothing of it is delivered again."`
	Lanes   operator.Lanes `cmd:"" help:"Look at the lanes, pause and resume them, over the admin API of a service."`
	Queue   operator.Queue `cmd:"" help:"Look at work queues, and have what failed in them tried again, over the admin API of a service."`
	Build   versionCmd     `cmd:"" name:"version" help:"Print the version: what this binary was built from."`
}

const about = `Watches Firestore outboxes and delivers their records, by lane, to their targets: on Pub/Sub, and the handler that sets Firebase custom claims.

A flag wins over its variable, which counts as not set where it is empty. Of a flag that is given twice the last one counts; a list takes both, and what selects dead letters is refused.

Exit codes: 0 done; 1 failed; 2 flags, environment or catalog are wrong;
3 append refused a record, or catalog diff found what breaks something; 4 local lost a record or delivered one out of order;
5 to 8 and 10 are those of dlq, lanes, queue and restore, 9 is doctor's, see their help; 130 local was stopped before its end.`

// parse reads the command line into a command that is ready to run. Both
// results are nil after --help or --version, which have been answered then.
func parse(args []string, env shell.Lookup, stdout, stderr io.Writer) (program.Command, error) {
	return program.Parse(program.CLI{
		Name: "outbox-relay", About: about, Version: version(), Flags: &cli{}, Options: []kong.Option{tuningDefaults()},
	}, args, env, stdout, stderr)
}
