package dlq

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Bounds of a conditional change.
const (
	// maxJudgements: every refused commit means that somebody else's went
	// through, so this many in a row is a crowd, not a fault.
	maxJudgements = 100
	// maxUnknown: commits in a row of which nothing is known. The client already
	// sent each of them again for as long as that made sense.
	maxUnknown = 4
	// maxAborted: commits that lost to others before they were judged.
	maxAborted = 20
	// abortedPause and abortedPauseMax bound the pause after such a one, which
	// doubles: who holds what it wants has to come to an end first.
	abortedPause    = 50 * time.Millisecond
	abortedPauseMax = time.Second
)

// codeInvalidArgument is the code of writes that can never be applied, as those
// of a document that would grow too large.
const codeInvalidArgument = "InvalidArgument"

// codeAborted is the code of writes that were not applied because others were
// under way.
const codeAborted = "Aborted"

// change is one conditional change. It reads what stands there and judges it:
// the writes to commit, none when the change stands already, or why not. It is
// asked again whenever its commit came to nothing, so it must recognise its own
// work: the answer of a commit that was applied may have been lost.
type change func(ctx context.Context) ([]Write, error)

// commit carries out a change and returns the time of its commit; zero when it
// stood already.
func (q *Queue) commit(ctx context.Context, c change) (time.Time, error) {
	unknown, aborted := 0, 0
	for n := range maxJudgements {
		writes, err := c(ctx)
		if err != nil || len(writes) == 0 {
			return time.Time{}, err
		}
		at, err := q.store.Commit(ctx, writes)
		if err == nil {
			return at, nil
		}
		limit := time.Duration(min(n+1, 40)) * 5 * time.Millisecond
		refused, _ := errors.AsType[CommitError](err)
		switch {
		case refused != nil && refused.Refused() && refused.Code() == codeInvalidArgument:
			return time.Time{}, err
		case refused != nil && refused.Refused():
			unknown, aborted = 0, 0
		case refused != nil && refused.Code() == codeAborted:
			if aborted++; aborted >= maxAborted {
				return time.Time{}, err
			}
			limit = min(abortedPause<<min(aborted-1, 10), abortedPauseMax)
		default:
			if unknown++; unknown >= maxUnknown {
				return time.Time{}, err
			}
		}
		if err := pause(ctx, limit); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, &Refusal{Kind: Conflict, Detail: "too many others change it at this moment", Hint: "try again in a moment"}
}

// pause waits for a random part of limit, so that those who collided do not
// collide again.
func pause(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// moment is now in the precision that Firestore keeps.
func (q *Queue) moment() time.Time { return q.now().UTC().Truncate(time.Microsecond) }
