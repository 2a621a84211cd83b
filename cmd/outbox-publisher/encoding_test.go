package main

import (
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/postgres/postgrestest"
)

// What is in a database of another encoding is read as UTF-8, which a message is; one that knows no encoding does not refuse its
// rows for the bytes of one of them.
func TestRowsOfAnotherEncodingAreReadAsUTF8(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ encoding, payload, want string }{
		{"UTF8", "caf\u00e9", "caf\u00e9"},
		{"LATIN1", "caf\u00e9", "caf\u00e9"},
		{"SQL_ASCII", "caf\u00e9", "caf\u00e9"},
		{"SQL_ASCII", "caf\xe9", "caf\xe9"},
	} {
		t.Run(test.encoding+" "+test.want, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.DatabaseIn(t, test.encoding)
			env := map[string]string{"DATABASE_URL": url}
			if code, _, stderr := runProgram(t, env, "migrate", "up"); code != 0 {
				t.Fatal(stderr)
			}
			client := url
			if utf8.ValidString(test.payload) {
				client = with(url, "client_encoding=UTF8")
			}
			execute(t, client, `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json)
				VALUES ($1, 'order_created', 'vendor_order', $1, jsonb_build_object('text', $2::text))`, uuid.New(), test.payload)
			pool, err := databaseFlags{}.open(t.Context(), shell.LookupIn(env))
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			var got string
			if err := pool.QueryRow(t.Context(), `SELECT payload_json::text FROM outbox_events`).Scan(&got); err != nil || got != `{"text": "`+test.want+`"}` {
				t.Errorf("it is read as %q: %v", got, err)
			}
		})
	}
}
