package firestore_test

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// TestDueBehindWhatWasClosedByHand: a dead letter whose state somebody set in Firestore's console still has
// the time of its replay. However many of those come first, what is due behind them is found.
func TestDueBehindWhatWasClosedByHand(t *testing.T) {
	f := setup(t, newCloud(t))
	const limit = 2
	var want []string
	for n := range 12 {
		i := f.letter("wsOutbox", "Anything", "x", int64(n))
		i.NextReplayAt = f.now.Add(time.Duration(n-20) * time.Minute)
		f.bury(i)
		if n >= 7 && n != 9 {
			want = append(want, i.ID)
			continue
		}
		f.commit(dlq.Write{
			Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: dlq.OpMerge, Fields: map[string]any{contracts.DeadFieldState: string(contracts.DeadDiscarded)},
		})
	}
	var got []string
	for after := (dlq.DueAfter{}); ; {
		page, err := f.queue.Due(t.Context(), contracts.SafeAuto, []string{"wsOutbox"}, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			got = append(got, i.ID)
		}
		if after = page.At; !page.More {
			break
		}
		if page.Next.IsZero() || page.Next.After(f.now) {
			t.Errorf("after %d the next is due at %v, want it past", len(got), page.Next)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("due are %v, want %v", got, want)
	}
}
