package main

import (
	"net"
	"strconv"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/dlq/admin/auth"
)

// authFlags say how the admin API finds out who asks.
type authFlags struct {
	AuthMode  string   `env:"AUTH_MODE" enum:",oidc,iap,dev" default:"" help:"Who may use /admin/v1: oidc (Google ID tokens), iap (Identity-Aware Proxy), dev (well-known tokens, on loopback alone); without it nobody."`
	Audience  []string `env:"AUTH_AUDIENCE" placeholder:"AUDIENCE" help:"What tokens of oidc and iap must have been made for; several with commas."`
	RolesFile string   `env:"ROLES_FILE" type:"path" placeholder:"FILE" help:"YAML file of identities by role, for oidc and iap; read again when it changes."`
}

// authenticator makes the authenticator of a service on host and port. What is
// wrong with it is the caller's to mend.
func (f authFlags) authenticator(host string, port int, log *zap.Logger) (auth.Authenticator, error) {
	a, err := auth.New(auth.Config{
		Mode: auth.Mode(f.AuthMode), Audience: f.Audience, RolesFile: f.RolesFile,
		ListenAddr: net.JoinHostPort(host, strconv.Itoa(port)), Log: log.Named("auth"),
	})
	if err != nil {
		return nil, shell.Usagef("%w (AUTH_MODE, AUTH_AUDIENCE, ROLES_FILE, HOST)", err)
	}
	return a, nil
}
