package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// failsEveryOther has each query of a collection that asks for a field by name fail the
// first time, until mended. The client does not try again what took too long.
func (f *fixture) failsEveryOther(collection, field string) (mend func()) {
	var mu sync.Mutex
	n := 0
	return f.cloud.embedded.Faults().Add(localfirestore.Fault{
		Method: "RunQuery", Collection: collection, Code: codes.DeadlineExceeded,
		Match: func(c localfirestore.Call) bool {
			r, _ := c.Request.(*pb.RunQueryRequest)
			if !strings.Contains(r.GetStructuredQuery().String(), field) {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			n++
			return n%2 == 1
		},
	})
}

// A relay starts beside more freezes than one page holds although Firestore fails each
// read once: the pages that it has read it does not read again.
func TestStartsBesideManyFreezesInTrouble(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	many := make([]int, 650)
	for i := range many {
		many[i] = i
	}
	for chunk := range slices.Chunk(many, 300) {
		b := f.db.Batch() //nolint:staticcheck // one commit
		for _, i := range chunk {
			id := fmt.Sprintf("frozen-%d", i)
			b.Set(f.freezeDoc(id), map[string]any{"aggregateId": id, "state": string(dlq.Frozen), "frozenAt": time.Now(), "deadLetters": []string{}})
		}
		if _, err := b.Commit(f.ctx); err != nil {
			t.Fatal(err)
		}
	}
	f.failsEveryOther(contracts.CollectionFrozen, "__name__")
	fresh := f.each("wsOutbox", "TaskCompleted", 5)
	held := f.record("wsOutbox", "TaskCompleted", "frozen-649", 1)
	f.append(append(fresh, held), 6)
	f.run()
	f.eventually("what is not frozen is delivered", func() bool { return f.unmarked(fresh, contracts.Delivered) == 0 })
	f.eventually("what is frozen is held", func() bool { return f.unmarked([]*contracts.Record{held}, contracts.Held) == 0 })
}

// An account with more records than a page holds goes on after its freeze although
// Firestore fails each read of them once.
func TestThawsManyRecordsInTrouble(t *testing.T) {
	thorough.Long(t)
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.freeze(account, dlq.Releasing)
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 450)
	f.append(tasks, 150)
	r := f.run()
	r.alive()
	f.failsEveryOther("wsOutbox", "aggregateId")
	f.endFreeze()
	f.eventually("all are delivered", func() bool { return f.unmarked(tasks, contracts.Delivered) == 0 })
	if got, want := f.delivered(tasks), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
