package main

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/operator"
	"outboxrelay/cmd/outbox-relay/shell"
)

// command is one subcommand, its flags parsed and checked.
type command interface {
	Run(ctx context.Context, p shell.Process) error
}

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

Exit codes: 0 done; 1 failed; 2 flags, environment or catalog are wrong;
3 append refused a record; 4 local lost a record or delivered one out of order;
5 to 8 are those of dlq, lanes, queue and restore, 9 is doctor's, see their help.`

// parse reads the command line into a command that is ready to run. Both
// results are nil after --help or --version, which have been answered then.
func parse(args []string, env shell.Lookup, stdout, stderr io.Writer) (command, error) {
	var flags cli
	parser, err := kong.New(&flags,
		kong.Name("outbox-relay"),
		kong.Description(about),
		kong.Vars{"version": version()},
		tuningDefaults(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(answered(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
		kong.Resolvers(environment(env)),
		kong.ValueFormatter(describe),
	)
	if err != nil {
		return nil, fmt.Errorf("build command line: %w", err)
	}
	if err := detachEnvironment(parser); err != nil {
		return nil, fmt.Errorf("build command line: %w", err)
	}
	parsed, err := parseOrAnswer(parser, args)
	switch {
	case err != nil:
		return nil, shell.Exit(shell.ExitUsage, fmt.Errorf("%w (see outbox-relay --help)", err))
	case parsed == nil:
		return nil, nil
	}
	cmd, ok := reflect.TypeAssert[command](parsed.Selected().Target.Addr())
	if !ok {
		return nil, shell.Usagef("%q is not a command by itself (see --help)", parsed.Command())
	}
	return cmd, nil
}

// answered is thrown where kong would exit: --help and --version end the parse.
type answered int

func parseOrAnswer(parser *kong.Kong, args []string) (parsed *kong.Context, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			if _, ok := thrown.(answered); !ok {
				panic(thrown)
			}
			parsed, err = nil, nil
		}
	}()
	return parser.Parse(args)
}

// detachEnvironment keeps kong from reading the process's environment, so that
// the one given to run is the only one. The names stay with the flags.
func detachEnvironment(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			flag.Tag.Envs = nil
		}
		return next(nil)
	})
}

// environment resolves flags from their variables. An empty one counts as not
// set.
func environment(env shell.Lookup) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if value := env.Get(name); value != "" {
				return value, nil
			}
		}
		return nil, nil
	})
}

// describe adds a flag's variable to its help.
func describe(value *kong.Value) string {
	if value.Flag == nil || len(value.Flag.Envs) == 0 {
		return value.Help
	}
	return fmt.Sprintf("%s [$%s]", value.Help, value.Flag.Envs[0])
}
