package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/operator"
	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/tracing"
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
)

// doctorCmd looks at what a deployment needs. It takes every flag of serve, from
// the same variables, so that it looks at the service that they would start.
type doctorCmd struct {
	serveCmd

	URL          string `name:"url" env:"OUTBOX_RELAY_URL" placeholder:"URL" help:"Address of a running service, which is looked at too; without it none is."`
	Token        string `env:"OUTBOX_RELAY_TOKEN" placeholder:"TOKEN" help:"Bearer token for it. Rather set the variable: others can see a command line."`
	TokenCommand string `env:"OUTBOX_RELAY_TOKEN_COMMAND" placeholder:"COMMAND" help:"Command that prints the token."`

	JSON    bool          `name:"json" help:"Print the findings as JSON."`
	Strict  bool          `help:"Fail also for what is only to be heeded."`
	Offline bool          `help:"Look only at what needs nobody's answer: settings, catalog, audience, roles file."`
	Timeout time.Duration `default:"1m" help:"Longest time for all of it."`
}

// Help is the long text of doctor --help.
func (c *doctorCmd) Help() string {
	return `Before a deployment and after it: settings, who may use the admin API, the catalog, credentials, each kind of call to Firestore, Pub/Sub and Firebase Auth, composite indexes, TTL policies, exempt fields, topics and their subscriptions, IAM permissions, the clock, what waits in the outboxes, who owns them; and with --url a running service. It takes the flags and variables of serve, and looks at what serve would be started with. Each finding says what mends it: "$" is a command, "->" is what no command does.

Calls are harmless: reads of what is not there, and one document in relay-doctor, which is removed again. Nothing is published, and nobody's claims are changed. What cannot be judged is skipped and says why: an emulator has no IAM and no TTL policies, and a service's account need not be allowed to read indexes. What it says about access is about whoever runs it. To ask for the service's account: gcloud auth application-default login --impersonate-service-account=EMAIL.

Exit codes: 0 nothing failed; 1 something failed; 2 flags are wrong; 9 with --strict: nothing failed, and something is to be heeded. What is skipped counts for nothing.`
}

// Validate names what is wrong with the flags.
func (c *doctorCmd) Validate() error {
	err := c.serveCmd.Validate()
	if c.Timeout <= 0 {
		err = errors.Join(err, fmt.Errorf("--timeout is %v, want more than 0", c.Timeout))
	}
	return err
}

// AfterApply is called by kong.
func (c *doctorCmd) AfterApply(parsed *kong.Context) error {
	if c.Offline && program.Given(parsed, "url") {
		return errors.New("--offline asks nobody, and --url names a service to be asked: leave one of them out")
	}
	return operator.ChooseToken(parsed, &c.Token)
}

// Run looks, and prints what it found.
func (c *doctorCmd) Run(ctx context.Context, p shell.Process) error {
	report := doctor.Examine(ctx, c.config(p))
	if err := c.print(p, report); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: not all was looked at")
	case report.Verdict == doctor.Fail:
		return fmt.Errorf("%s failed", shell.Plural(report.Counts.Fail, "look"))
	case report.Verdict == doctor.Warn && c.Strict:
		return shell.Exit(shell.ExitHeed, fmt.Errorf("%s to be heeded", shell.Plural(report.Counts.Warn, "finding")))
	}
	return nil
}

func (c *doctorCmd) print(p shell.Process, report *doctor.Report) error {
	if !c.JSON {
		return report.WriteText(p.Stdout)
	}
	return shell.WriteJSON(p.Stdout, report)
}

// config is what serve would be started with.
func (c *doctorCmd) config(p shell.Process) doctor.Config {
	at, _ := c.place(p.Env) // no project is a finding of its own
	at.Database = c.Database
	at.Firestore, at.PubSub, at.Auth = p.Env.Get(gcp.EnvFirestore), p.Env.Get(gcp.EnvPubSub), p.Env.Get(gcp.EnvAuth)
	var refusals []error
	if _, err := tracing.FromEnv(p.Env); err != nil {
		refusals = append(refusals, err)
	}
	build := thisBuild()
	return doctor.Config{
		Project: at.Project, Database: at.Database, Firestore: at.Firestore, PubSub: at.PubSub, Auth: at.Auth,
		OpenFirestore: at.DialFirestore, OpenPubSub: at.DialPubSub,
		Catalog: func() (*contracts.Catalog, error) {
			catalog, err := c.load(p.Env)
			if err != nil {
				return nil, err
			}
			return c.apply(catalog)
		},
		CatalogFile: c.Catalog, Flags: c.again(), Handler: claimsTarget, EnsureTopics: c.EnsureTopics,
		Access: auth.Config{
			Mode: auth.Mode(c.AuthMode), Audience: c.Audience, RolesFile: c.RolesFile, ListenAddr: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)),
		},
		Refusals: refusals, Version: build.Version, Commit: build.Commit,
		Host: c.Host, StopBudget: c.StopBudget, LeaseTerm: c.LeaseTerm, Env: p.Env.Get,
		Service: c.service(p), Offline: c.Offline, Timeout: c.Timeout,
	}
}

// again are the flags that lead serve and cloud to the same project and catalog.
func (c *doctorCmd) again() []string {
	var flags []string
	if c.Project != "" {
		flags = append(flags, "--project", c.Project)
	}
	if c.Catalog != "" {
		flags = append(flags, "--catalog", c.Catalog)
	}
	for _, s := range c.StandIn {
		flags = append(flags, "--stand-in", s)
	}
	return flags
}

// service leads to the running one; nil: none was named.
func (c *doctorCmd) service(p shell.Process) *adminapi.Config {
	if c.URL == "" {
		return nil
	}
	cfg := &adminapi.Config{URL: c.URL}
	switch {
	case c.Token != "":
		cfg.Token = adminapi.StaticToken(c.Token)
	case c.TokenCommand != "":
		cfg.Token = adminapi.NewCommandToken(c.TokenCommand, p.Stderr)
	}
	return cfg
}
