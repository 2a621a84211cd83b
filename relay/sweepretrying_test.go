package relay_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// Records in backoff that nobody waits for are told of until the sweep takes them.
func TestHealthTellsOfRecordsInBackoffThatNobodyWaitsFor(t *testing.T) {
	const due, others = 3, 2
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval, f.tuning.SweepAge = 50*time.Millisecond, time.Hour // it takes none
	r := f.run()
	f.swept(r, "wsOutbox", 1) // what was there at the start is read
	var records []*contracts.Record
	for i := range due + others {
		next := time.Now().Add(-time.Minute)
		if i >= due {
			next = time.Now().Add(time.Hour)
		}
		record := f.record("wsOutbox", "TaskCompleted", fmt.Sprint("late-", i), 1)
		fields := record.ProducerFields()
		fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
		fields[contracts.FieldStatus], fields[contracts.FieldNextAttemptAt] = string(contracts.Retrying), next
		if _, err := f.db.Doc(record.Path()).Create(f.ctx, fields); err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	told := func(all, unattended int64) bool {
		o := r.outbox("wsOutbox")
		return o.Retrying == all && o.Unattended == unattended &&
			r.gauge("relay_retrying_records", "outbox", "wsOutbox") == float64(all) &&
			r.gauge("relay_unattended_records", "outbox", "wsOutbox") == float64(unattended)
	}
	f.eventually("they are told of", func() bool { return told(due+others, due) })
	for _, record := range records { // by somebody
		if err := set("status", "delivered")(t.Context(), f.db.Doc(record.Path())); err != nil {
			t.Fatal(err)
		}
	}
	f.eventually("there are none any more", func() bool { return told(0, 0) })
}
