package publisher

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"outboxrelay/deploy/local/thorough"
)

// timeless are values of created_at that no message can have, and whether they come before all others.
var timeless = []struct {
	value string
	first bool
}{{"-infinity", true}, {"4713-01-01 00:00:00+00 BC", true}, {"1969-12-31 23:59:59+00", true}, {"10000-01-01 00:00:00+00", false}, {"infinity", false}}

// appendTimeless appends for each of them such a row and another, to an aggregate of its own.
func (f *fixture) appendTimeless() (poison, others []event) {
	f.Helper()
	for i, at := range timeless {
		e := event{id: uuid.New(), aggregate: numbered(1000 + i)}
		if _, err := f.pool.Exec(f.Context(), strings.ReplaceAll(insertSQL, "coalesce($3, clock_timestamp())", "$3::text::timestamptz"), e.id, e.aggregate, at.value); err != nil {
			f.Fatal(err)
		}
		poison, others = append(poison, e), append(others, event{id: uuid.New(), aggregate: e.aggregate})
	}
	f.append(others...)
	return poison, others
}

// A row whose created_at no message can have is parked as one that the topic refuses: it stops nothing but
// what is behind it, and it is told of.
func TestTimelessRowHoldsBackItsAggregateAlone(t *testing.T) {
	t.Parallel()
	for name, upTo := range map[string]int64{"all migrations": 0, "the first alone": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, upTo)
			poison, others := f.appendTimeless()
			list := events(5, 3)
			f.append(list...)
			o := f.options()
			o.MaxAttempts, o.Batch = 3, 2
			p, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.countOnce(t.Context()); err != nil {
				t.Errorf("such rows are not counted: %v", err)
			}
			f.run(p)
			f.await("they are parked", func() bool { return f.count("attempt_count = 3") == len(timeless) })
			f.await("the others are published", func() bool { return f.count("published_at IS NULL") == len(timeless)+3 })
			for i, at := range timeless {
				if _, text := f.attempts(poison[i].id); !strings.Contains(text, "created_at is no time from 1970 to 9999") {
					t.Errorf("%s: last_error is %q", at.value, text)
				}
				if n := f.count("id = $1 AND published_at IS NULL", others[i].id); at.first != (n == 1) {
					t.Errorf("%s: of its aggregate %d rows wait behind it", at.value, n)
				}
				if n := f.shelf.tries(poison[i].id); n != 0 {
					t.Errorf("%s: the topic was asked %d times", at.value, n)
				}
				if !at.first {
					list = append(list, others[i])
				}
			}
			f.judge(list)
			f.listed(poison)
		})
	}
}

// listed holds List to what the database says of the parked rows.
func (f *fixture) listed(poison []event) {
	f.Helper()
	parked, err := List(f.Context(), f.pool, true, 3, 10)
	if err != nil || len(parked) != len(poison) {
		f.Fatalf("%d are listed, want %d: %v", len(parked), len(poison), err)
	}
	for i, want := range []string{"-infinity", "4713-01-01 00:00:00 BC", "1969-12-31 23:59:59", "10000-01-01 00:00:00", "infinity"} {
		if w := parked[i]; w.ID != poison[i].id || w.CreatedAt != want {
			f.Errorf("listed is %+v, want %s of %s", w, poison[i].id, want)
		}
	}
	if _, err := json.Marshal(parked); err != nil {
		f.Error(err)
	}
}

func TestClaimsTakeTimelessRows(t *testing.T) {
	thorough.EndToEnd(t)
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		f := w.setup(t)
		poison, _ := f.appendTimeless()
		c := w.claim(f, 100)
		if len(c.rows) != 2*len(poison) {
			t.Errorf("%d rows are claimed, want %d", len(c.rows), 2*len(poison))
		}
		if a := plan(c.rows, 10, 0); len(a.timeless) != 3 || len(a.runs) != 2 {
			t.Errorf("refused are %v, want the heads alone; may go: %v", a.timeless, a.runs)
		}
	})
}
