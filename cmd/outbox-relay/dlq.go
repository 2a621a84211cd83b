package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

// dlqCmd groups what can be done about dead letters over the admin API.
type dlqCmd struct {
	List      dlqListCmd      `cmd:"" help:"List dead letters, newest first; open ones unless --any or --state is given."`
	Show      dlqShowCmd      `cmd:"" help:"Show one dead letter: what happened, and what may be done now."`
	Groups    dlqGroupsCmd    `cmd:"" help:"Count dead letters by event type and error."`
	Replay    dlqReplayCmd    `cmd:"" help:"Deliver a dead letter now, to the targets that still lack it."`
	Discard   dlqDiscardCmd   `cmd:"" help:"Give a dead letter up."`
	Authorize dlqAuthorizeCmd `cmd:"" help:"Allow the replay of a SECURITY_BLOCK dead letter."`
	Withdraw  dlqWithdrawCmd  `cmd:"" help:"Take back the replay that was asked for, and an authorization."`
	Note      dlqNoteCmd      `cmd:"" help:"Write something down about a dead letter."`
	Release   dlqReleaseCmd   `cmd:"" help:"Let the held records of a frozen aggregate go on."`
	Freezes   dlqFreezesCmd   `cmd:"" help:"List frozen aggregates."`
	Bulk      dlqBulkCmd      `cmd:"" help:"Replay all dead letters of a selection, at a rate."`
	Bulks     dlqBulksCmd     `cmd:"" help:"List bulk replays."`
	Follow    dlqFollowCmd    `cmd:"" help:"Follow a bulk replay to its end."`
	Cancel    dlqCancelCmd    `cmd:"" help:"Cancel a bulk replay."`
	Trace     dlqTraceCmd     `cmd:"" help:"Tell all that is known of a trace, as a timeline."`
	Audit     dlqAuditCmd     `cmd:"" help:"List who decided what, newest first."`
}

// dlqExits is told by every help of a dlq command.
const dlqExits = `

Exit codes: 0 done; 1 failed, as when the service cannot be reached; 2 flags or values are wrong; 5 refused: it is not in that state, something else comes first, or somebody was faster; 6 not found; 7 not allowed: no valid token, or not the role; 8 not all was delivered: a bulk replay was stopped or cancelled, some of it failed or was passed over, or a replay that was waited for failed.`

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
	d := &desk{Client: client, Process: p, json: f.JSON, self: "outbox-relay dlq", patience: 5 * time.Second}
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
	return withExitCode(do(d))
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

// printJSON writes an answer as it came, indented, and fit for a terminal.
func printJSON(w io.Writer, answer json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(answer), "", "  "); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	_, err := fmt.Fprintln(terminal.Escaping(w), b.String())
	return err
}

// show answers a read: as JSON, or as text makes it.
func show[T any](ctx context.Context, d *desk, path string, query map[string][]string, text func(T) error) error {
	var into T
	answer, err := d.Get(ctx, path, query, &into)
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d.Stdout, answer)
	}
	return text(into)
}
