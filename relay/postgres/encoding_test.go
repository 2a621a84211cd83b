package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/deploy/local/postgres/postgrestest"
)

// A database has its own encoding, which is that of its clients unless they ask for another; an event is stored as what it says
// all the same, or refused.
func TestDatabaseOfAnotherEncoding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		encoding, text string
		stored         string // as the database has it, in hexadecimal; "": it is refused
	}{
		{"LATIN1", "caf\u00e9", "636166e9"},
		{"LATIN1", "5 \u20ac", ""},
		{"SQL_ASCII", "caf\u00e9", "636166c3a9"},
	} {
		t.Run(test.encoding+" "+test.text, func(t *testing.T) {
			t.Parallel()
			d := setupOn(t, postgrestest.DatabaseIn(t, test.encoding))
			for name, in := range ways(t, d) {
				event := sample(uuid.NewString())
				event.ID, event.Data = uuid.New(), map[string]string{"text": test.text}
				for range 2 { // the second one is compared
					err := in(func(appendAll func(...Event) ([]uuid.UUID, error)) error { _, err := appendAll(event); return err })
					if refused, ok := errors.AsType[*pgconn.PgError](err); test.stored == "" && (!ok || refused.Code != "22P05") || test.stored != "" && err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				var stored []string
				d.scan(t, &stored, `SELECT coalesce(array_agg(encode(convert_to(payload_json->'data'->>'text', getdatabaseencoding()), 'hex')), '{}') FROM outbox_events WHERE id = $1`, event.ID)
				if got := strings.Join(stored, " "); got != test.stored {
					t.Errorf("%s: stored is %q, want %q", name, got, test.stored)
				}
			}
		})
	}
}

func (d db) scan(t *testing.T, to any, sql string, args ...any) {
	t.Helper()
	if err := d.pool.QueryRow(d.ctx, sql, args...).Scan(to); err != nil {
		t.Fatal(err)
	}
}
