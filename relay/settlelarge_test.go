package relay_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// lastFill is the most that fill could add to the last record: it is found once, as
// the records of these tests are of one length, and each try is a megabyte.
var lastFill struct {
	sync.Mutex
	most int
}

// fill pads a record until its document is so many bytes under Firestore's
// limit, and appends it.
func (f *fixture) fill(r *contracts.Record, room int) {
	f.t.Helper()
	ref := f.db.Collection(r.Outbox).Doc(r.ID)
	fields := r.ProducerFields()
	fits := func(pad int) bool {
		fields["payload"] = map[string]any{"a": strings.Repeat("a", pad/2), "b": strings.Repeat("b", pad-pad/2)}
		fields["status"] = "held" // not to be relayed yet: the status takes its room below
		_, err := ref.Set(f.ctx, fields)
		return err == nil
	}
	lastFill.Lock()
	defer lastFill.Unlock()
	low := lastFill.most
	if !fits(low) || fits(low+1) { // it is the first, or its fields are of another length
		high := 1 << 20 // does not fit
		for low = 1_000_000; high-low > 1; {
			if mid := (low + high) / 2; fits(mid) {
				low = mid
			} else {
				high = mid
			}
		}
		lastFill.most = low
	}
	// "pending" takes three bytes more than "held".
	fields["payload"] = map[string]any{"a": strings.Repeat("a", low/2), "b": strings.Repeat("b", low-low/2-room-3)}
	fields["status"], fields["createdAt"] = "pending", firestore.ServerTimestamp
	if _, err := ref.Set(f.ctx, fields); err != nil {
		f.t.Fatal(err)
	}
}

func TestSettlesARecordThatLeavesNoRoom(t *testing.T) {
	thorough.Long(t)
	f := setup(t, newCloud(t))
	f.retries(3, time.Millisecond)
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if strings.HasPrefix(r.AggregateID, "fails") && r.Attempts == 0 {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	r := f.run()
	for _, room := range []int{0, 1, 2, 20, 60, 300} {
		for _, first := range []string{"works", "fails"} {
			name := fmt.Sprintf("%s with room for %3d bytes", first, room) // all of one length: see fill
			large := f.record("wsOutbox", "TaskCompleted", name, 1)
			f.fill(large, room)
			small := f.series("wsOutbox", "TaskCompleted", "small beside what "+name, 1, 3)
			f.append(small, 3)
			f.delivered(small)
			f.eventually("what "+name+" is settled", func() bool {
				fields := f.fields(large.Path())
				return r.inMemory() == 0 && (fields == nil || fields["status"] == "delivered")
			})
		}
	}
	if dead := f.deadLetters(); len(dead) > 0 {
		t.Errorf("got %d dead letters, want none", len(dead))
	}
}

func TestDeadLetterOfALargeRecordIsTrimmed(t *testing.T) {
	f := setup(t, newCloud(t))
	f.script(func(context.Context, string, *contracts.Record) error {
		return failure(contracts.Permanent, "TooLarge")
	})
	f.run()
	large := f.record("wsOutbox", "TaskCompleted", "large", 1)
	f.fill(large, 0)
	f.eventually("it is dead", func() bool { return f.fields(large.Path())["status"] == "dead" })
	letter := f.deadLetters()[large.IdempotencyKey]
	record, _ := letter["record"].(map[string]any)
	if letter["recordTrimmed"] != true || record["payload"] != nil || record["eventId"] != large.EventID {
		t.Errorf("got trimmed %v, payload %v, event %v; want the record without its payload", letter["recordTrimmed"], record["payload"] != nil, record["eventId"])
	}
	if f.fields(large.Path())["payload"] == nil {
		t.Error("the payload is gone from the outbox, where it has to stay")
	}
}
