package dlq_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestFollow(t *testing.T) {
	f := setup(t)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var told []dlq.Change
	ended := make(chan error, 1)
	go func() {
		ended <- f.newQueue(f.store).Follow(ctx, func(changes []dlq.Change) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, changes...)
		})
	}()
	heard := func(what dlq.Change) {
		t.Helper()
		f.eventually(what.On+" is told of", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(told, what)
		})
	}
	f.eventually("audit, dead letters and bulk replays are followed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(told, make([]dlq.Change, 3)) // each begins with the zero Change
	})
	arrived := f.die("accOutbox", "WalletDeducted", "acc-2", 1)
	heard(dlq.Change{Subject: dlq.SubjectDeadLetter, On: arrived.ID})
	f.decide(i.ID, dlq.Note, operator)
	heard(dlq.Change{Subject: dlq.SubjectDeadLetter, On: i.ID})
	if _, err := f.queue.SetLane(t.Context(), contracts.BackgroundLane, true, operator, "a test"); err != nil {
		t.Fatal(err)
	}
	heard(dlq.Change{Subject: dlq.SubjectLane, On: string(contracts.BackgroundLane)})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
