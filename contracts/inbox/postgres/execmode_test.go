package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"outboxrelay/contracts/inbox/inboxtest"
)

// A pool may say how statements are sent, as where a pooler keeps no prepared ones.
func TestConformsWhateverWayStatementsAreSent(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			store, _ := openAs(t, func(c *pgx.ConnConfig) { c.DefaultQueryExecMode = mode })
			inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: store} })
		})
	}
}
