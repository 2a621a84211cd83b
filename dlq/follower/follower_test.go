package follower_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/follower"
)

func TestFollow(t *testing.T) {
	f := setup(t)
	i := f.Die("accOutbox", "WalletDeducted", "acc-1", 1)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var told []follower.Change
	ended := make(chan error, 1)
	go func() {
		ended <- follower.New(f.NewQueue(f.Store), nil).Follow(ctx, func(changes []follower.Change) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, changes...)
		})
	}()
	heard := func(what follower.Change) {
		t.Helper()
		f.Eventually(what.On+" is told of", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(told, what)
		})
	}
	f.Eventually("audit, dead letters and bulk replays are followed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(told, make([]follower.Change, 3)) // each begins with the zero Change
	})
	arrived := f.Die("accOutbox", "WalletDeducted", "acc-2", 1)
	heard(follower.Change{Subject: dlq.SubjectDeadLetter, On: arrived.ID})
	f.Decide(i.ID, dlq.Note, dlqtest.Operator)
	heard(follower.Change{Subject: dlq.SubjectDeadLetter, On: i.ID})
	if _, err := f.Queue.SetLane(t.Context(), contracts.BackgroundLane, true, dlqtest.Operator, "a test"); err != nil {
		t.Fatal(err)
	}
	heard(follower.Change{Subject: dlq.SubjectLane, On: string(contracts.BackgroundLane)})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
