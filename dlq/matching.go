package dlq

import (
	"context"
	"fmt"

	"outboxrelay/contracts"
)

// MaxMatching bounds what Matching counts: what Firestore counts for one read.
const MaxMatching = 1000

// Matching counts the dead letters that f selects; more tells that it stopped at
// MaxMatching, and that there may be more.
func (q *Queue) Matching(ctx context.Context, f Filter) (n int64, more bool, err error) {
	if err := f.check(); err != nil {
		return 0, false, err
	}
	// The order is the list's, and so are its indexes.
	query := Query{Collection: contracts.CollectionDeadLetters, Where: f.where(), OrderBy: latestDead, Limit: MaxMatching}
	if n, err = q.store.Count(ctx, query); err != nil {
		return 0, false, fmt.Errorf("count dead letters: %w", err)
	}
	return n, n == MaxMatching, nil
}
