package relay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

func TestOrderIsThatOfVersions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// small: a window of 10, pages of 15 and memory for 12 records.
		small   bool
		records func(f *fixture) []*contracts.Record
		commits func(rnd *rand.Rand) int // size of the next commit
	}{
		{
			name:    "one commit",
			records: func(f *fixture) []*contracts.Record { return f.records("wsOutbox", 90, 3) },
			commits: func(*rand.Rand) int { return 90 },
		},
		{
			name:    "a commit larger than window, page and memory",
			small:   true,
			records: func(f *fixture) []*contracts.Record { return f.records("wsOutbox", 100, 2) },
			commits: func(*rand.Rand) int { return 100 },
		},
		{
			name:    "commits that the window's edge cuts",
			small:   true,
			records: func(f *fixture) []*contracts.Record { return f.records("wsOutbox", 240, 4) },
			commits: func(rnd *rand.Rand) int { return 20 + rnd.IntN(81) },
		},
		{
			name:    "commits of a few around the window's edge",
			small:   true,
			records: func(f *fixture) []*contracts.Record { return f.records("wsOutbox", 120, 2) },
			commits: func(rnd *rand.Rand) int { return 1 + rnd.IntN(12) },
		},
		{
			name:    "an outbox with two targets and two lanes",
			small:   true,
			records: func(f *fixture) []*contracts.Record { return f.records("tagOutbox", 120, 3) },
			commits: func(*rand.Rand) int { return 40 },
		},
	}
	for _, test := range tests {
		for _, when := range []string{"before the start", "while it listens", "both"} {
			if when != "both" && !thorough.Whole() {
				continue
			}
			t.Run(test.name+", appended "+when, func(t *testing.T) {
				f := setup(t, newCloud(t))
				if test.small {
					f.shrink(10, 12)
					f.tuning.PageSize = 15
				}
				records := backwards(test.records(f))
				rnd := rand.New(rand.NewPCG(3, uint64(len(records))))
				early := map[string]int{"before the start": len(records), "both": len(records) / 2}[when]
				add := func(records []*contracts.Record) {
					for len(records) > 0 {
						n := min(test.commits(rnd), len(records))
						f.append(records[:n], n)
						records = records[n:]
					}
				}
				add(records[:early])
				f.run().alive()
				add(records[early:])

				if got, want := f.delivered(records), (judgement{}); got != want {
					t.Errorf("got %+v, want every record once and in order", got)
				}
			})
		}
	}
}

// backwards names records so that a higher version sorts before a lower one:
// within one commit Firestore's order is then the opposite of the aggregate's.
func backwards(records []*contracts.Record) []*contracts.Record {
	for _, r := range records {
		r.ID = fmt.Sprintf("%05d-%s", 99_999-r.AggregateVersion, r.ID)
	}
	return records
}
