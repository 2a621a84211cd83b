package freezer_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// What breaks the contract is not held: an aggregate that is frozen goes on dying by it, and
// each of these dead letters joins the list of its freeze, until that fills its document.
// The aggregate can be released all the same.
func TestAFullFreezeIsReleased(t *testing.T) {
	f := setup(t)
	letter := f.Letter("accOutbox", "RoleChanged", "acc-1", 1)
	f.Bury(letter)
	for n, more := 1, 5000; more > 0; {
		ids := make([]string, more)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s:acc-1:%d", letter.EventID, n+i)
		}
		_, err := f.Store.Commit(t.Context(), []dlq.Write{{
			Collection: contracts.CollectionFrozen, ID: dlq.FreezeID("acc-1"), Op: dlq.OpMerge, Union: map[string][]string{"deadLetters": ids},
		}})
		switch {
		case err == nil:
			n += more
		case dlq.RefusesDocument(err):
			more /= 10
		default:
			t.Fatal(err)
		}
	}
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("it is released", func() bool { return !f.Frozen("acc-1") })
}

// A held record that has room for "held" and none for "pending" keeps neither the others of
// its aggregate nor the release. It stays as it is: the sweep of its outbox dead-letters it
// once there is no freeze.
func TestAHeldRecordWithoutRoomKeepsNoRelease(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("accOutbox", "WalletDeducted", "acc-1", 3)
	tight := f.Letter("accOutbox", "WalletDeducted", "acc-1", 50)
	holds := func(size int) bool {
		record := dlqtest.Record(tight)
		record[contracts.FieldStatus], record[contracts.FieldPayload] = string(contracts.Held), map[string]any{"text": strings.Repeat("x", size)}
		_, err := f.Store.Commit(t.Context(), []dlq.Write{{Collection: "accOutbox", ID: tight.ID, Op: dlq.OpSet, Fields: record}})
		return err == nil
	}
	if most := sort.Search(1<<20, func(size int) bool { return !holds(size) }) - 1; !holds(most) {
		t.Fatal("it cannot be held")
	}
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("it is released", func() bool { return !f.Frozen("acc-1") })
	if pending, held := f.Having("acc-1", contracts.Pending), f.Having("acc-1", contracts.Held); pending != 3 || held != 1 {
		t.Errorf("%d records are pending and %d held, want all of the others, and the one", pending, held)
	}
}
