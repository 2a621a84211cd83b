package demo

import (
	"context"
	"errors"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Clients are the apps of the sample accounts. Each listens to its account's
// signal document, forces a new token when the document changes, and looks
// whether the token carries the claims that it was told of.
type Clients struct {
	Docs     *firestore.Client
	Auth     *Auth
	Ledger   *Ledger
	Accounts []string

	mu   sync.Mutex
	apps map[string]*app
}

// app is one account's. One goroutine at a time uses it.
type app struct {
	account string
	session *Session // nil: not signed in
	seen    int64    // version of the last signal that was followed
}

// signal is what an app reads of its document.
type signal struct {
	EventID       string `firestore:"eventId"`
	ClaimsVersion int64  `firestore:"claimsVersion"`
}

// listenAgain is the pause after a listener that failed, and after a token that
// could not be had.
const listenAgain = 200 * time.Millisecond

// Run listens for all accounts until ctx ends, which is no error.
func (c *Clients) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, account := range c.Accounts {
		wg.Go(func() { c.follow(ctx, c.app(account)) })
	}
	wg.Wait()
	return nil
}

func (c *Clients) app(account string) *app {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apps == nil {
		c.apps = map[string]*app{}
	}
	a := c.apps[account]
	if a == nil {
		a = &app{account: account}
		c.apps[account] = a
	}
	return a
}

// CatchUp lets every app follow the signal that stands there now, as one that
// comes back from the background does. Run must have ended.
func (c *Clients) CatchUp(ctx context.Context) error {
	for _, account := range c.Accounts {
		snap, err := c.document(account).Get(ctx)
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		c.Ledger.SignalRead()
		if err := c.obey(ctx, c.app(account), snap); err != nil {
			return err
		}
	}
	return nil
}

func (c *Clients) document(account string) *firestore.DocumentRef {
	return c.Docs.Collection(contracts.CollectionRefreshSignals).Doc(dlq.ID(account))
}

// follow listens to one document until ctx ends.
func (c *Clients) follow(ctx context.Context, a *app) {
	a.session, _ = c.Auth.SignIn(ctx, a.account) // tried again when there is a signal
	for ctx.Err() == nil {
		c.listen(ctx, a)
		shell.Pause(ctx, listenAgain)
	}
}

// listen obeys signals until the listener fails.
func (c *Clients) listen(ctx context.Context, a *app) {
	ctx, cancel := context.WithCancel(ctx) // Stop alone leaves goroutines behind
	defer cancel()
	snaps := c.document(a.account).Snapshots(ctx)
	defer snaps.Stop()
	for {
		snap, err := snaps.Next()
		if err != nil {
			return
		}
		c.Ledger.SignalRead()
		for snap.Exists() && c.obey(ctx, a, snap) != nil {
			if !shell.Pause(ctx, listenAgain) {
				return
			}
		}
	}
}

// obey fetches a new token for a signal that is news.
func (c *Clients) obey(ctx context.Context, a *app, snap *firestore.DocumentSnapshot) error {
	var s signal
	if err := snap.DataTo(&s); err != nil || s.ClaimsVersion <= a.seen {
		return nil //nolint:nilerr // a document that is no signal tells nothing
	}
	session, err := c.renewed(ctx, a)
	if errors.Is(err, ErrNoUser) {
		return nil
	}
	if err != nil {
		return err
	}
	a.session, a.seen = session, s.ClaimsVersion
	c.Ledger.TokenRefreshed(s.EventID, session.ClaimsVersion() >= s.ClaimsVersion)
	return nil
}

func (c *Clients) renewed(ctx context.Context, a *app) (*Session, error) {
	if a.session == nil {
		return c.Auth.SignIn(ctx, a.account)
	}
	return c.Auth.Renew(ctx, a.session)
}
