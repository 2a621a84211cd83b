package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
)

// apiFlags say where the admin API is, and who asks.
type apiFlags struct {
	URL          string `name:"url" env:"OUTBOX_RELAY_URL" default:"http://127.0.0.1:8080" help:"Address of the service."`
	Token        string `env:"OUTBOX_RELAY_TOKEN" placeholder:"TOKEN" help:"Bearer token. Rather set the variable: others can see a command line."`
	TokenCommand string `env:"OUTBOX_RELAY_TOKEN_COMMAND" placeholder:"COMMAND" help:"Command that prints the token, such as 'gcloud auth print-identity-token --impersonate-service-account=ACCOUNT --audiences=URL --include-email'."`
	JSON         bool   `name:"json" help:"Print the API's own answer."`
}

// Help is the long text of each dlq command's --help.
func (f *apiFlags) Help() string { return "Asks the admin API of a running service." + dlqExits }

// desk is a dlq command at work.
type desk struct {
	*adminapi.Client
	shell.Process
	json bool
	self string // how to call the same service again: "outbox-relay dlq", with its --url where that is not the default
	// patience is how long something that is waited for may stand still before it is said why.
	patience time.Duration
	// outage is how long a service that does not answer is asked again about what is under way.
	outage time.Duration
	// again is how long after each look at what is under way the next one comes.
	again time.Duration
}

// defaultURL is --url's.
const defaultURL = "http://127.0.0.1:8080"

// open makes a client. Its Close must follow.
func (f *apiFlags) open(p shell.Process) (*desk, error) {
	cfg := adminapi.Config{URL: f.URL}
	switch {
	case f.Token != "":
		cfg.Token = adminapi.StaticToken(f.Token)
	case f.TokenCommand != "":
		cfg.Token = adminapi.NewCommandToken(f.TokenCommand, p.Stderr)
	}
	client, err := adminapi.New(cfg)
	if err != nil {
		return nil, shell.Usagef("--url: %w", err)
	}
	d := &desk{Client: client, Process: p, json: f.JSON, self: "outbox-relay dlq", patience: 5 * time.Second, outage: time.Minute, again: 500 * time.Millisecond}
	if f.URL != defaultURL && p.Env.Get("OUTBOX_RELAY_URL") != f.URL {
		d.self += " --url " + shell.Quote(f.URL)
	}
	return d, nil
}

// ask runs f on a desk, and gives what it is refused its exit code.
func (f *apiFlags) ask(p shell.Process, do func(*desk) error) error {
	d, err := f.open(p)
	if err != nil {
		return err
	}
	defer d.Close()
	return withExitCode(f.hint(do(d)))
}

// hint adds what may be missing to an error: the token, or the address of the service.
func (f *apiFlags) hint(err error) error {
	p, answered := errors.AsType[*adminapi.Problem](err)
	switch {
	case answered && p.Status == http.StatusUnauthorized && f.Token == "" && f.TokenCommand == "":
		return fmt.Errorf("%w\nno token was sent: set OUTBOX_RELAY_TOKEN, or OUTBOX_RELAY_TOKEN_COMMAND to a command that prints one", err)
	case !answered && adminapi.Passing(err) && f.URL == defaultURL:
		return fmt.Errorf("%w\nset OUTBOX_RELAY_URL, or --url, to the address of the service: without them it is looked for on this machine", err)
	}
	return err
}

// withExitCode gives a refusal of the API the code that a script can act on.
func withExitCode(err error) error {
	p, ok := errors.AsType[*adminapi.Problem](err)
	if !ok {
		return err
	}
	code := shell.ExitFailed
	switch p.Status {
	case http.StatusConflict, http.StatusPreconditionFailed:
		code = shell.ExitConflict
	case http.StatusNotFound:
		code = shell.ExitNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		code = shell.ExitNotAllowed
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		code = shell.ExitUsage
	}
	return shell.Exit(code, err)
}

// show answers a read: as JSON, or as text makes it.
func show[T any](ctx context.Context, d *desk, path string, query map[string][]string, text func(T) error) error {
	var into T
	answer, err := d.Get(ctx, path, query, &into)
	if err != nil {
		return err
	}
	if d.json {
		return shell.PrintJSON(d.Stdout, answer)
	}
	return text(into)
}
