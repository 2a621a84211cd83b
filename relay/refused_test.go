package relay_test

import (
	"context"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// Records of one feed may run in several lanes. What is left behind as one of them
// refuses it is not read in a circle meanwhile.
func TestWhatALaneRefusesIsNotReadInACircle(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.Behind = 3
	f.tuning.CanaryInterval, f.tuning.SweepInterval, f.tuning.SweepAge = time.Hour, time.Hour, time.Hour
	f.retries(100, time.Hour)
	head := f.series("accOutbox", "WalletDeducted", account, 1, 1)
	rest := f.series("accOutbox", "WalletDeducted", account, 2, 12)
	other := f.series("accOutbox", "AccountCreated", account, 13, 14)
	for _, r := range other {
		r.Lane = contracts.CriticalLane // where its producer wrote it; the catalog has it in another
	}
	f.script(func(_ context.Context, _ string, r *contracts.Record) error {
		if r.AggregateID == account && r.AggregateVersion == 1 {
			return failure(contracts.Attributable, "Internal")
		}
		return nil
	})
	f.run()
	f.append(head, 1)
	f.eventually("the head is in backoff", func() bool { return f.unmarked(head, contracts.Retrying) == 0 })
	f.append(append(rest, other...), 20)
	passing := f.series("accOutbox", "WalletDeducted", "another", 1, 30)
	for _, r := range passing { // time passes with them
		f.append([]*contracts.Record{r}, 1)
		f.eventually("another is delivered", func() bool { return f.unmarked([]*contracts.Record{r}, contracts.Delivered) == 0 })
	}
	const most = 400 // pages and snapshots of 45 records, and the test's own looks
	if reads := f.cloud.embedded.Billing().Collections["accOutbox"].Reads; reads > most {
		t.Errorf("billed %d reads, want %d at most", reads, most)
	} else {
		t.Logf("billed %d reads", reads)
	}
}
