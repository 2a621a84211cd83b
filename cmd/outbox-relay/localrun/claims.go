package localrun

import (
	"context"

	"outboxrelay/claims"
	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// setsClaims reports whether the run's own handler sets claims, and not a topic
// that stands in for it.
func (l *Run) setsClaims() bool {
	return l.cfg.Catalog.Targets[claims.DefaultTarget].Kind == contracts.KindHandler
}

// openAccounts makes a user for each sample account, and its app. The accounts
// of troubles get theirs later.
func (l *Run) openAccounts(ctx context.Context) error {
	if !l.setsClaims() {
		return nil
	}
	l.ledger.WatchClaims()
	l.apps = &demo.Clients{Docs: l.docs, Auth: l.users, Ledger: l.ledger}
	if l.sample != nil {
		l.apps.Accounts = l.sample.Accounts(claims.DefaultTarget)
	}
	for _, account := range l.apps.Accounts {
		if err := l.users.CreateUser(ctx, account); err != nil {
			return err
		}
	}
	for _, t := range l.cfg.Troubles {
		if account := t.Account(); account != "" {
			l.apps.Accounts = append(l.apps.Accounts, account)
		}
	}
	return nil
}

// witness lets the ledger see what the handler of claims does.
func (l *Run) witness(target ier.Target) ier.Target {
	return &demo.Witness{Target: target, Ledger: l.ledger}
}
