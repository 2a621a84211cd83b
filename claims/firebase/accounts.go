// Package firebase is the claims handler's Accounts over the Firebase Admin SDK.
package firebase

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"firebase.google.com/go/v4/auth"

	"outboxrelay/claims"
)

// Accounts implements claims.Accounts. It finds its credentials when they are
// first needed, and looks again until there are some: until then each call is an
// outage, NoCredentials.
type Accounts struct {
	opener *opener
	base   *http.Transport
}

var _ claims.Accounts = (*Accounts)(nil)

// Option changes how Accounts reach Firebase Auth.
type Option func(*opener)

// WithEmulator sends all calls to an emulator at HOST:PORT, as
// FIREBASE_AUTH_EMULATOR_HOST does, which wins where both are given. "" is none.
func WithEmulator(address string) Option {
	return func(o *opener) { o.emulator = address }
}

// Open returns the users of project. It contacts nobody. ctx gives values to the
// later search for credentials; its end does not end the Accounts.
//
// With FIREBASE_AUTH_EMULATOR_HOST the SDK makes the connections itself, and
// repeats calls that found nobody or a 503, within the caller's time. In
// production and with WithEmulator each call is made once.
func Open(ctx context.Context, project string, opts ...Option) (*Accounts, error) {
	if project == "" {
		return nil, errors.New("open Firebase Auth: no project")
	}
	base := newBase()
	o := &opener{ctx: context.WithoutCancel(ctx), project: project, base: base, busy: make(chan struct{}, 1)}
	o.find = o.open
	for _, opt := range opts {
		opt(o)
	}
	if o.emulator != "" {
		if _, _, err := net.SplitHostPort(o.emulator); err != nil {
			return nil, fmt.Errorf("open Firebase Auth: emulator %q is not HOST:PORT", o.emulator)
		}
	}
	return &Accounts{opener: o, base: base}, nil
}

// Close closes the connections that are idle.
func (a *Accounts) Close() { a.base.CloseIdleConnections() }

// Ready returns nil when there are credentials, and otherwise what lacks and what
// to do about it. The first look may take seconds where there is no metadata
// server. It does not tell whether Auth can be reached.
func (a *Accounts) Ready(ctx context.Context) error {
	_, err := a.opener.client(ctx)
	return err
}

// Claims implements claims.Accounts.
func (a *Accounts) Claims(ctx context.Context, uid string) (map[string]any, error) {
	var custom map[string]any
	err := a.call(ctx, func(ctx context.Context, c *auth.Client) error {
		user, err := c.GetUser(ctx, uid)
		if err == nil {
			custom = user.CustomClaims
		}
		return err
	})
	return custom, err
}

// SetClaims implements claims.Accounts.
func (a *Accounts) SetClaims(ctx context.Context, uid string, custom map[string]any) error {
	return a.call(ctx, func(ctx context.Context, c *auth.Client) error { return c.SetCustomUserClaims(ctx, uid, custom) })
}

// RevokeTokens implements claims.Accounts.
func (a *Accounts) RevokeTokens(ctx context.Context, uid string) error {
	return a.call(ctx, func(ctx context.Context, c *auth.Client) error { return c.RevokeRefreshTokens(ctx, uid) })
}

// call makes one call and classifies its failure.
func (a *Accounts) call(ctx context.Context, do func(context.Context, *auth.Client) error) error {
	client, err := a.opener.client(ctx)
	if err != nil {
		return err
	}
	once, cancel := context.WithCancel(ctx)
	defer cancel()
	try := &attempt{giveUp: cancel}
	if err := do(try.within(once), client); err != nil {
		return classify(ctx, err, try)
	}
	return nil
}
