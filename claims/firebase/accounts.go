// Package firebase is the claims handler's Accounts over the API of Firebase Auth,
// Identity Toolkit. It makes the three calls that Firebase's Admin SDK would make, through the
// client that Google generates for them: with the SDK come clients of storage and messaging and
// all of Envoy's configuration, a third of the program, whose descriptors are read into memory
// at each start.
package firebase

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

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
// later search for credentials; its end does not end the Accounts. Each call is made
// once.
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

// User implements claims.Accounts.
func (a *Accounts) User(ctx context.Context, uid string) (user claims.User, err error) {
	err = a.call(ctx, uid, func(ctx context.Context, t *toolkit) (err error) {
		user, err = t.lookup(ctx, uid)
		return err
	})
	return user, err
}

// SetClaims implements claims.Accounts.
func (a *Accounts) SetClaims(ctx context.Context, uid string, custom map[string]any) error {
	if custom == nil {
		custom = map[string]any{}
	}
	return a.call(ctx, uid, func(ctx context.Context, t *toolkit) error {
		encoded, err := claims.EncodeClaims(custom)
		if err != nil {
			return &refusal{fmt.Errorf("encode claims: %w", err)}
		}
		return t.setClaims(ctx, uid, string(encoded))
	})
}

// RevokeTokens implements claims.Accounts.
func (a *Accounts) RevokeTokens(ctx context.Context, uid string) error {
	return a.call(ctx, uid, func(ctx context.Context, t *toolkit) error {
		return t.revoke(ctx, uid, time.Now())
	})
}

// maxUID is the longest uid that Firebase gives out, in bytes.
const maxUID = 128

// call makes one call and classifies its failure.
func (a *Accounts) call(ctx context.Context, uid string, do func(context.Context, *toolkit) error) error {
	if uid == "" || len(uid) > maxUID {
		return classify(ctx, &refusal{fmt.Errorf("uid has %d bytes, want 1 to %d", len(uid), maxUID)})
	}
	client, err := a.opener.client(ctx)
	if err != nil {
		return err
	}
	if err := do(ctx, client); err != nil {
		return classify(ctx, err)
	}
	return nil
}
