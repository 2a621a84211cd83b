package relay_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// What breaks the contract is not held, so that a frozen aggregate goes on dying by it: its
// freeze lists how that began and the latest.
func TestAFreezeListsAFewOfManyDeadLetters(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	listed := make([]string, dlq.ListedMost-1)
	for i := range listed {
		listed[i] = fmt.Sprint("before-", i)
	}
	_, err := f.freezeDoc(account).Set(f.ctx, map[string]any{
		"aggregateId": account, "state": string(dlq.Frozen), "frozenAt": time.Now(), "deadLetters": listed,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := f.run()
	dies := func(version int64) *contracts.Record {
		record := f.record("accOutbox", "RoleChanged", account, version)
		f.appendOdd(record, sets("attempts", "three"))
		f.dead(record)
		f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
		return record
	}
	lists := func() []string {
		freeze, err := f.queue.Freeze(f.ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		return freeze.DeadLetters
	}
	first := dies(1)
	if want := append(slices.Clone(listed), f.item(first).ID); !slices.Equal(lists(), want) {
		t.Errorf("it lists %v, want all that there are, %v", lists(), want)
	}
	second := dies(2)
	if want := append(slices.Clone(listed[:dlq.ListedMost/2]), f.item(second).ID); !slices.Equal(lists(), want) {
		t.Errorf("it lists %v, want the first of them and the latest, %v", lists(), want)
	}
	third := dies(3)
	if want := append(slices.Clone(listed[:dlq.ListedMost/2]), f.item(second).ID, f.item(third).ID); !slices.Equal(lists(), want) {
		t.Errorf("it lists %v, want one more, %v", lists(), want)
	}
}

// A flood of what breaks the contract comes in many commits that know little of each other:
// the freeze's list stays short all the same, and all are dead letters.
func TestAFloodOfDeadLettersLeavesAFreezeShort(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.tuning.CommitSize = 10
	r := f.run()
	var records []*contracts.Record
	for n := range 400 {
		record := f.record("accOutbox", "RoleChanged", account, int64(n+1))
		f.appendOdd(record, sets("attempts", "three"))
		records = append(records, record)
	}
	f.eventually("all are dead", func() bool { return f.unmarked(records, contracts.Dead) == 0 })
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
	freeze, err := f.queue.Freeze(f.ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(freeze.DeadLetters); n == 0 || n > 2*dlq.ListedMost {
		t.Errorf("the freeze lists %d, want about %d", n, dlq.ListedMost)
	}
	if n := len(f.deadLetters()); n != len(records) {
		t.Errorf("%d dead letters, want %d", n, len(records))
	}
}
