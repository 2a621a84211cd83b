package publisher

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// maxErrorBytes bounds last_error, in bytes.
const maxErrorBytes = 500

// refusal is a counted failure.
type refusal struct {
	row   *row
	text  string // for last_error
	count int    // attempts to count: all that are left where no other one can help
}

// verdict is what a round's deliveries say of its rows: what has no part in it stays as it was.
type verdict struct {
	published []*row
	refused   []refusal
	outages   int  // calls that failed or were not made as the topic is out
	cut       bool // the time of the round was over before all was sent, perhaps
}

// out tells whether the topic is. One that takes something, but less than a round has, is slow.
func (v *verdict) out() bool { return v.outages > 0 && (!v.cut || len(v.published) == 0) }

// judge reads the outcomes of a run. The marks stop at its first row that was not acknowledged,
// so that a later one is never published before it. wasOut tells whether the topic was out at a
// time: what failed then is not held against the row.
func (v *verdict) judge(rows run, outcomes []ier.Outcome, wasOut func(time.Time) bool) {
	for i, r := range rows {
		switch o := &outcomes[i]; {
		case len(o.Acked) > 0:
			v.published = append(v.published, r)
			continue
		case len(o.Failed) == 0: // blocked, by the breaker or our own stop
			v.outages++
		case counts(o.Failed[0], wasOut):
			v.refused = append(v.refused, refusal{r, bound(o.Failed[0].Code + ": " + o.Failed[0].Message), 1})
		default:
			v.outages++
		}
		return
	}
}

func counts(f ier.TargetFailure, wasOut func(time.Time) bool) bool {
	switch f.Kind {
	case contracts.Permanent:
		return true
	case contracts.Attributable:
		return !wasOut(f.At)
	default:
		return false
	}
}

// bound makes text fit for last_error: UTF-8 that Postgres takes, cut between characters.
func bound(text string) string {
	return contracts.ClipTo(strings.ReplaceAll(text, "\x00", "\uFFFD"), maxErrorBytes)
}

// marks are the columns of the statement that marks a round: an ID, and why its row was refused,
// nil where it was published, and how many attempts that counts.
func (v *verdict) marks() (ids []uuid.UUID, reasons []*string, counts []int64) {
	for _, r := range v.published {
		ids, reasons, counts = append(ids, r.id), append(reasons, nil), append(counts, 0)
	}
	for i := range v.refused {
		f := &v.refused[i]
		ids, reasons, counts = append(ids, f.row.id), append(reasons, &f.text), append(counts, int64(f.count))
	}
	return ids, reasons, counts
}
