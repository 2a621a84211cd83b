package publisher

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/postgres/postgrestest"
)

// The topic's answer may hold characters that the encoding of the database lacks. The marks of a round do not fail for that,
// which would have its rows published again and again.
func TestLastErrorFitsTheEncoding(t *testing.T) {
	t.Parallel()
	const text = "caf\u00e9 \u201c\u20ac\u201d \U0001f600"
	for _, test := range []struct{ encoding, want string }{
		{"UTF8", "InvalidArgument: " + text},
		{"LATIN1", "InvalidArgument: caf? ??? ?"},
		{"SQL_ASCII", "InvalidArgument: " + text},
	} {
		t.Run(test.encoding, func(t *testing.T) {
			t.Parallel()
			f := setupOn(t, postgrestest.DatabaseIn(t, test.encoding), 0)
			f.pool = f.connect(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" })
			list := events(3, 2)
			poison := list[0]
			f.append(list...)
			f.shelf.failing(func(id uuid.UUID, _ int) error {
				if id == poison.id {
					return &contracts.Failure{Kind: contracts.Permanent, Code: "InvalidArgument", Err: errors.New(text)}
				}
				return nil
			})
			o := f.options()
			o.MaxAttempts = 2
			f.start(o)
			f.await("one is parked, and others are published", func() bool {
				return f.count("attempt_count = 2") == 1 && f.count("published_at IS NULL") == 2
			})
			if _, got := f.attempts(poison.id); got != test.want {
				t.Errorf("last_error is %q, want %q", got, test.want)
			}
			if got := len(f.shelf.messages()); got != 4 {
				t.Errorf("%d messages of 4 rows", got)
			}
		})
	}
}
