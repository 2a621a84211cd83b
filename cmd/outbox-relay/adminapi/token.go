package adminapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Token is what a client proves its identity with. It never appears in an error.
type Token interface {
	Get(ctx context.Context) (string, error)
	// Forget drops a token that was refused. It reports whether Get may return
	// another one.
	Forget() bool
}

// StaticToken is one that does not change.
type StaticToken string

// Get returns the token.
func (t StaticToken) Get(context.Context) (string, error) { return checkToken(string(t)) }

// Forget does nothing: there is no other.
func (t StaticToken) Forget() bool { return false }

// commandWithin bounds a token command; it may have to ask an identity provider.
const commandWithin = 30 * time.Second

// CommandToken is what a command prints, as `gcloud auth print-identity-token`
// does. It is kept until it is refused.
type CommandToken struct {
	command string
	stderr  io.Writer

	mu    sync.Mutex
	token string
	fresh bool // it was made for the request that is under way
}

// NewCommandToken takes a command line for the shell. What the command says on
// its standard error goes to stderr.
func NewCommandToken(command string, stderr io.Writer) *CommandToken {
	return &CommandToken{command: command, stderr: stderr}
}

// Get runs the command the first time, and after Forget.
func (t *CommandToken) Get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" {
		t.fresh = false
		return t.token, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", t.command)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, t.stderr, time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run token command: %w", err)
	}
	token, err := checkToken(out.String())
	if err != nil {
		return "", fmt.Errorf("run token command: %w", err)
	}
	t.token, t.fresh = token, true
	return token, nil
}

// Forget makes the next Get run the command again, unless the token was just
// made: a second one would be refused as well.
func (t *CommandToken) Forget() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fresh {
		return false
	}
	t.token = ""
	return true
}

// checkToken refuses what cannot stand in a header, without repeating it.
func checkToken(token string) (string, error) {
	token = strings.TrimSpace(token)
	switch {
	case token == "":
		return "", errors.New("the token is empty")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", errors.New("the token holds spaces or characters that no token has")
	}
	return token, nil
}
