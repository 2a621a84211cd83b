package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/dlq"
)

// TestRefusedUnregisteringPausesBetweenTries: the registration's delete is refused, and what stands there
// cannot be read. It is tried again until the stop's budget is used up, with a pause each time.
func TestRefusedUnregisteringPausesBetweenTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, "s1")
		a := w.start("A")
		time.Sleep(5 * time.Second)
		var deletes int
		a.client.with(func(f *faults) {
			f.commit = func(writes []dlq.Write) error {
				if writes[0].Op != dlq.OpDelete {
					return nil
				}
				deletes++
				return &fakeError{code: "FailedPrecondition", refused: true}
			}
			f.get = func() error { return errUnavailable }
		})
		began := time.Now()
		a.stop()
		if took := time.Since(began); took > a.keeper.config.StopBudget {
			t.Errorf("the stop took %v of virtual time, more than its budget %v", took, a.keeper.config.StopBudget)
		}
		if most := 1 + int(a.keeper.config.StopBudget/a.keeper.retryPause()); deletes < 2 || deletes > most {
			t.Errorf("the delete was tried %d times, want 2 to %d", deletes, most)
		}
	})
}
