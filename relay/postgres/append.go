package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// transaction is what an adapter makes of the caller's: a statement that answers one row, or none.
type transaction interface {
	// scan runs sql and reads the columns of its first row into to. found is false where there is none.
	scan(ctx context.Context, sql string, args []any, to ...any) (found bool, err error)
}

// lockSQL waits for the lock of an aggregate and keeps it until the transaction ends. It is a statement of
// its own: the one that inserts looks at what was committed when it begins.
const lockSQL = `SELECT pg_advisory_xact_lock($1::text::bigint)::text`

// payloadSQL is an envelope from its bytes. As a text it would be taken to be in the encoding of the connection, which is the database's
// unless its owner asks for another: a database of LATIN1 would keep each byte of UTF-8 for a character.
const payloadSQL = `convert_from($5::bytea, 'UTF8')::jsonb`

// insertSQL answers nothing where the ID is taken. created_at is the database's clock after the lock, and
// later than what waits of the aggregate, but for what others inserted to be the last for ever, as infinity or the last day that a
// message can have, which leaves no room behind it; the index of the fourth migration finds that in one step.
const insertSQL = `
INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
VALUES ($1::text::uuid, $2::text::event_type_enum, $3::text::aggregate_type_enum, $4::text::uuid, ` + payloadSQL + `, greatest(clock_timestamp(), (
	SELECT max(created_at) + interval '1 microsecond' FROM outbox_events
	WHERE aggregate_type = $3::text::aggregate_type_enum AND aggregate_id = $4::text::uuid AND published_at IS NULL AND created_at < '9999-12-31 00:00:00Z'
)))
ON CONFLICT (id) DO NOTHING
RETURNING true`

// compareSQL says what of a row is the same as of the event that has its ID. When it happened does not count.
const compareSQL = `
SELECT event_type = $2::text::event_type_enum, aggregate_type = $3::text::aggregate_type_enum, aggregate_id = $4::text::uuid,
	payload_json -> 'version' IS NOT DISTINCT FROM ` + payloadSQL + ` -> 'version',
	payload_json -> 'actor' IS NOT DISTINCT FROM ` + payloadSQL + ` -> 'actor',
	payload_json -> 'data' IS NOT DISTINCT FROM ` + payloadSQL + ` -> 'data'
FROM outbox_events WHERE id = $1::text::uuid`

// appendAll is what every way to append comes to.
func appendAll(ctx context.Context, tx transaction, events []Event) ([]uuid.UUID, error) {
	rows, err := check(ctx, events)
	if err != nil {
		return nil, err
	}
	for _, key := range lockKeys(rows) {
		if _, err := tx.scan(ctx, lockSQL, []any{strconv.FormatInt(key, 10)}, new(string)); err != nil {
			return nil, fmt.Errorf("append to %s: lock aggregate: %w", Table, err)
		}
	}
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		if err := insert(ctx, tx, r); err != nil {
			return nil, err
		}
		ids[i] = r.id
	}
	return ids, nil
}

// lockKeys are the locks of the rows' aggregates, each once and in the order in which everybody takes
// them.
func lockKeys(rows []row) []int64 {
	keys := make([]int64, len(rows))
	for i, r := range rows {
		// The first 64 bits of a hash: others' advisory locks, and other aggregates', almost never meet them, and
		// where they do they wait for each other.
		sum := sha256.Sum256([]byte(Table + "/" + string(r.aggregateType) + "/" + r.aggregateID.String()))
		keys[i] = int64(binary.BigEndian.Uint64(sum[:8]))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func insert(ctx context.Context, tx transaction, r row) error {
	args := []any{r.id.String(), string(r.eventType), string(r.aggregateType), r.aggregateID.String(), r.payload}
	inserted, err := tx.scan(ctx, insertSQL, args, new(bool))
	if err != nil {
		return fmt.Errorf("append to %s: insert event %s: %w", Table, r.id, err)
	}
	if inserted {
		return nil
	}
	names := [...]string{"event_type", "aggregate_type", "aggregate_id", "version", "actor", "data"}
	var same [len(names)]bool
	to := make([]any, len(names))
	for i := range same {
		to[i] = &same[i]
	}
	found, err := tx.scan(ctx, compareSQL, args, to...)
	switch {
	case err != nil:
		return fmt.Errorf("append to %s: compare event %s: %w", Table, r.id, err)
	case !found: // published and removed in between: it was there
		return nil
	}
	var differs []string
	for i, name := range names {
		if !same[i] {
			differs = append(differs, name)
		}
	}
	if len(differs) > 0 {
		return &CollisionError{ID: r.id.String(), Differs: differs}
	}
	return nil
}
