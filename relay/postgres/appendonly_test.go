package postgres

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The program itself: no statement in this package or one below it changes anything of a row but the
// three columns, or removes one.
func TestNoStatementChangesMore(t *testing.T) {
	mutable := map[string]bool{"published_at": true, "attempt_count": true, "last_error": true}
	update := regexp.MustCompile(`(?is)\bUPDATE\s+(?:outbox_events|"\s*\+\s*Table)\b(.*?)(?:\bWHERE\b|\bFROM\b|$)`)
	assigned := regexp.MustCompile(`(?i)(?:\bSET\b|,)\s*([a-z_]+)\s*=`)
	removes := regexp.MustCompile(`(?i)\b(DELETE\s+FROM|TRUNCATE(\s+TABLE)?|MERGE\s+INTO)\s+outbox_events\b`)
	files, updates := 0, 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if found := removes.Find(text); found != nil {
			t.Errorf("%s removes rows: %s", path, found)
		}
		for _, found := range update.FindAllSubmatch(text, -1) {
			updates++
			for _, column := range assigned.FindAllSubmatch(found[1], -1) {
				if !mutable[strings.ToLower(string(column[1]))] {
					t.Errorf("%s sets %s", path, column[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d files were looked at", files)
	}
	t.Logf("%d files, %d updates", files, updates)
}

// The database: with the second migration it refuses the same, whoever asks.
func TestDatabaseRefusesWhatIsNotAppendOnly(t *testing.T) {
	d := setup(t)
	tx := d.begin(t, pgx.TxOptions{})
	id := d.append(t, tx, sample(uuid.NewString()))[0]
	d.commit(t, tx)
	for _, statement := range []string{
		"UPDATE outbox_events SET id = gen_random_uuid()",
		"UPDATE outbox_events SET event_type = 'order_canceled'",
		"UPDATE outbox_events SET aggregate_type = 'store'",
		"UPDATE outbox_events SET aggregate_id = gen_random_uuid()",
		`UPDATE outbox_events SET payload_json = '{"version": 2}'`,
		"UPDATE outbox_events SET created_at = created_at + interval '1 microsecond'",
		"UPDATE outbox_events SET published_at = now(), payload_json = '{}'",
		"DELETE FROM outbox_events",
		"TRUNCATE outbox_events",
	} {
		if _, err := d.pool.Exec(d.ctx, statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: error is %v, want that it is append-only", statement, err)
		}
	}
	for _, statement := range []string{
		"UPDATE outbox_events SET attempt_count = attempt_count + 1, last_error = 'no answer' WHERE id = $1",
		"UPDATE outbox_events SET published_at = now(), last_error = NULL WHERE id = $1",
		"DELETE FROM outbox_events WHERE id = $1", // retention: it is published
	} {
		d.exec(t, statement, id)
	}
}
