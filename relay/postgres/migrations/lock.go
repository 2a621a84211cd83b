package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"

	"github.com/pressly/goose/v3/lock"
)

// Who waits for another asks each second, for as long as an index of a large table may take.
const (
	lockEverySeconds = 1
	lockTries        = 15 * 60
)

// lockOfSchema has one process at a time migrate the tables of a schema, by Goose's advisory lock: types and the
// table of versions are else made twice at once, which Postgres fails. The lock is not that of an application's own
// migrations, nor that of another schema, and it ends with its connection.
type lockOfSchema struct{}

// SessionLock implements lock.SessionLocker.
func (lockOfSchema) SessionLock(ctx context.Context, conn *sql.Conn) error {
	locker, err := locker(ctx, conn)
	if err != nil {
		return err
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for another that migrates: %w", err)
	}
	return nil
}

// SessionUnlock implements lock.SessionLocker.
func (lockOfSchema) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	locker, err := locker(ctx, conn)
	if err != nil {
		return err
	}
	return locker.SessionUnlock(ctx, conn)
}

// locker is Goose's, for the schema in which conn makes tables.
func locker(ctx context.Context, conn *sql.Conn) (lock.SessionLocker, error) {
	var schema string
	if err := conn.QueryRowContext(ctx, "SELECT coalesce(current_schema(), '')").Scan(&schema); err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}
	id := fnv.New64a()
	_, _ = id.Write([]byte(VersionTable + "/" + schema)) // never fails
	return lock.NewPostgresSessionLocker(lock.WithLockID(int64(id.Sum64())), lock.WithLockTimeout(lockEverySeconds, lockTries))
}
