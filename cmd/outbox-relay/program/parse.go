package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/shell"
)

// Command is one subcommand, its flags parsed and checked.
type Command interface {
	Run(ctx context.Context, p shell.Process) error
}

// CLI is a program's command line.
type CLI struct {
	Name    string
	About   string // the long text of --help
	Version string // the answer to --version
	// Flags is a pointer to a struct as kong reads it. The environment variable of a flag stands in its env
	// tag; a flag that is given wins over it.
	Flags   any
	Options []kong.Option // beside these
}

// Parse reads the command line into a command that is ready to run. Both
// results are nil after --help or --version, which have been answered then.
func Parse(c CLI, args []string, env shell.Lookup, stdout, stderr io.Writer) (Command, error) {
	from := make(variables)
	parser, err := kong.New(c.Flags, append([]kong.Option{
		kong.Name(c.Name),
		kong.Description(c.About),
		kong.Vars{"version": c.Version},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(answered(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
		kong.Resolvers(from.environment(env)),
		kong.ValueFormatter(describe),
	}, c.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("build command line: %w", err)
	}
	if err := errors.Join(detachEnvironment(parser), refuseEmpty(parser)); err != nil {
		return nil, fmt.Errorf("build command line: %w", err)
	}
	parsed, err := parseOrAnswer(parser, args)
	if err == nil && parsed != nil {
		err = emptyArgument(parsed)
	}
	switch {
	case err != nil:
		return nil, shell.Exit(shell.ExitUsage, fmt.Errorf("%s%w (see %s --help)", from.of(err), err, c.Name))
	case parsed == nil:
		return nil, nil
	}
	cmd, ok := reflect.TypeAssert[Command](parsed.Selected().Target.Addr())
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

// variables are those that flags were read from, by the flag's name.
type variables map[string]string

// of names the variable that an error is about, whose text begins with the flag: whoever
// set the variable may know nothing of the flag.
func (v variables) of(err error) string {
	flag, _, _ := strings.Cut(err.Error(), ":")
	if name := v[strings.TrimPrefix(flag, "--")]; name != "" {
		return "environment variable " + name + ": "
	}
	return ""
}

// environment resolves flags from their variables. An empty one counts as not
// set.
func (v variables) environment(env shell.Lookup) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if value := env.Get(name); value != "" {
				v[flag.Name] = name
				return value, nil
			}
		}
		return nil, nil
	})
}

// describe adds a flag's default to its help, where a placeholder stands in its place, and its variable.
func describe(value *kong.Value) string {
	help := value.Help
	if value.Flag == nil {
		return help
	}
	if value.Flag.PlaceHolder != "" && value.Default != "" {
		help += fmt.Sprintf(" Default %s.", value.Default)
	}
	if len(value.Flag.Envs) > 0 {
		help += fmt.Sprintf(" [$%s]", value.Flag.Envs[0])
	}
	return help
}
