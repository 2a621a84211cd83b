package lease

import (
	"math"
	"testing"
	"time"

	"outboxrelay/dlq"
)

// How long nobody had a share counts from the last of all leases: an outbox may have
// had other shares before.
func TestIdleIsSinceTheLastOfAllLeases(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const term = 15 * time.Second
	lease := func(share, owner string, age time.Duration) dlq.Doc {
		return dlq.Doc{
			ID: share, UpdateTime: now.Add(-age), ReadTime: now,
			Fields: map[string]any{fieldOwner: owner, fieldTerm: term.Milliseconds()},
		}
	}
	for name, test := range map[string]struct {
		docs []dlq.Doc
		want time.Duration
	}{
		"nobody ever had one":       {nil, math.MaxInt64},
		"another instance is there": {[]dlq.Doc{lease(registrationPrefix+"vm-1", "", time.Second)}, math.MaxInt64},
		"released":                  {[]dlq.Doc{lease("accOutbox", "", time.Minute)}, time.Minute},
		"ran out":                   {[]dlq.Doc{lease("accOutbox", "vm-1", time.Minute)}, time.Minute - term},
		"valid":                     {[]dlq.Doc{lease("accOutbox", "vm-1", time.Second)}, 0},
		"of another name":           {[]dlq.Doc{lease("accOutbox", "", time.Hour), lease("wsOutbox.0", "", time.Second)}, time.Second},
	} {
		if got := newView(test.docs, term).idle(); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
