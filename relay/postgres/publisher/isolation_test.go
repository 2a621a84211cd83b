package publisher

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Whatever isolation a database has by default, that of a round is the one its claims are made for: under a stricter one
// a round fails at its marks because another one has marked meanwhile, and what it published is published again.
func TestIsolationIsNotTheDatabasesDefault(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	strict := f.connect(func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	})
	for _, test := range []struct {
		window  int
		indexed bool
	}{{100, false}, {100, true}, {0, true}, {walking, true}} {
		tx, err := begin(t.Context(), strict, test.window, test.indexed)
		if err != nil {
			t.Fatal(err)
		}
		var level string
		err = tx.QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&level)
		if err != nil || level != "read committed" {
			t.Errorf("window %d, indexed %v: isolation is %q: %v", test.window, test.indexed, level, err)
		}
		tx.end(context.Background())
	}
}
