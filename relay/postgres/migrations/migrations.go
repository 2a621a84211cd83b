// Package migrations makes and changes the outbox table, outbox_events, by the Goose migrations
// beside it, which the binary holds. The first one is the contract; the others are optional, in the
// order of their numbers, and the publisher works without them:
//
//	1 outbox_events  the table, its two enums and its indexes
//	2 append_only    a trigger that refuses what the application must not change
//	3 notify         a trigger that wakes the publishers at each commit
//	4 claim_index    what keeps the claim an index scan beside millions of published rows
//
// Which of them a database has stands in its table outbox_goose_db_version, so that they go along
// with migrations of the application's own, which Goose counts elsewhere.
package migrations

import (
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// VersionTable is where a database has the migrations that were applied.
const VersionTable = "outbox_goose_db_version"

// Channel is what the trigger of the third migration notifies.
const Channel = "outbox_events"

//go:embed *.sql
var files embed.FS

// New is a provider that migrates db: Up, UpTo, Down, DownTo, Status. Of several processes that
// migrate one schema one does at a time. The caller closes db.
func New(db *sql.DB) (*goose.Provider, error) {
	versions, err := database.NewStore(database.DialectPostgres, VersionTable)
	if err != nil {
		return nil, fmt.Errorf("migrations of the outbox: %w", err)
	}
	provider, err := goose.NewProvider("", db, files, goose.WithStore(versions), goose.WithSessionLocker(lockOfSchema{}), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("migrations of the outbox: %w", err)
	}
	return provider, nil
}
