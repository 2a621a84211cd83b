package demo

import (
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/firestore"
)

var view = View{
	Elapsed: 7 * time.Second,
	Totals: Totals{
		Lanes: []LaneTotals{
			{Lane: contracts.CriticalLane, In: 10, Delivered: 9, LateP50: 3 * time.Millisecond, LateP99: 12 * time.Second},
			{Lane: contracts.BackgroundLane},
		},
		Messages: 11, Duplicates: 1,
	},
	Failing: map[contracts.Lane]int{contracts.CriticalLane: 1},
	Notes:   []string{"FUNNEL is out"},
}

const table = `outbox-relay local, 7s

lane                in  delivered  pending        p50        p99  failing
CRITICAL            10          9        1       3 ms        12s        1
BACKGROUND           0          0        0          -          -        0

lag from append to acknowledgement, last minute
11 messages, 1 duplicates, 0 replays, 0 out of order
FUNNEL is out
`

func TestTable(t *testing.T) {
	if diff := cmp.Diff(table, view.Table()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestScreenRedrawsATerminal(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, true)
	s.Show(view)
	s.Tell([]string{"not between the drawings"})
	s.Show(view)
	want := cut + table + wrap + "\x1b[9F\x1b[J" + cut + table + wrap
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestScreenWritesLinesElsewhere(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, false)
	s.Tell(view.Notes)
	s.Show(view)
	s.Tell(nil)
	s.Tell(view.Notes)
	line := "   7s | CRITICAL in=10 delivered=9 pending=1 p50=3 ms p99=12s failing=1" +
		" | BACKGROUND in=0 delivered=0 pending=0 p50=- p99=- failing=0 | duplicates=1 outOfOrder=0\n"
	want := "FUNNEL is out\n" + line + "FUNNEL is out\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestSummary(t *testing.T) {
	kept := Summary{
		Took:   1500 * time.Millisecond,
		Totals: Totals{Lanes: []LaneTotals{{Lane: contracts.CriticalLane, In: 10, Delivered: 10, P50: time.Millisecond, P99: 2 * time.Millisecond}}, Messages: 12},
		Bill:   firestore.Operations{Reads: 20, Writes: 25, Deletes: 5},
	}
	broken := kept
	broken.Totals.Lanes = []LaneTotals{{Lane: contracts.CriticalLane, In: 10, Delivered: 7}}
	broken.Queue = Queue{Open: map[contracts.Tier]int64{contracts.SafeAuto: 1}}
	broken.Missing = map[string][]string{"k1": {"A", "B"}}
	interrupted := broken
	interrupted.Interrupted = true
	parked := broken
	parked.Queue.Held, parked.Queue.Discarded = 1, 1
	parked.Missing = nil
	disordered := kept
	disordered.Totals.OutOfOrder = 1

	for _, tc := range []struct {
		name string
		s    Summary
		kept bool
		want []string
	}{
		{"kept", kept, true, []string{
			"10 records appended, 10 delivered, 0 in the dead-letter queue, 0 held, 0 lost, in 1.5s",
			"CRITICAL            10         10       1 ms       2 ms",
			"billed per record: 2.00 reads, 1.50 writes, 0.50 deletes",
		}},
		{"lost", broken, false, []string{"7 delivered, 1 in the dead-letter queue, 0 held, 2 lost", "has not arrived: k1 at A, B"}},
		{"dead, discarded and held", parked, true, []string{"7 delivered, 2 in the dead-letter queue, 1 held, 0 lost"}},
		{"interrupted", interrupted, false, []string{"2 on their way"}},
		{"out of order", disordered, false, []string{"1 out of order"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			tc.s.Print(&out)
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in:\n%s", want, out.String())
				}
			}
			if tc.s.Kept() != tc.kept {
				t.Errorf("Kept = %v, want %v", tc.s.Kept(), tc.kept)
			}
		})
	}
}

func TestRelaysBillLeavesOutTheProducers(t *testing.T) {
	got := RelaysBill(firestore.Billing{
		Operations:  firestore.Operations{Reads: 5, Writes: 7, Deletes: 3},
		Collections: map[string]firestore.Operations{samples: {Writes: 2}, "accOutbox": {Reads: 5, Writes: 5, Deletes: 3}},
	})
	if diff := cmp.Diff(firestore.Operations{Reads: 5, Writes: 5, Deletes: 3}, got); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
}

func TestConsumersReadMessages(t *testing.T) {
	l := NewLedger()
	c := &Consumers{Ledger: l}
	l.Expect("k", contracts.CriticalLane, []string{"A"})
	l.Appended("k")
	c.arrive(&pb.PubsubMessage{Attributes: map[string]string{
		contracts.AttrTarget: "A", contracts.AttrOutbox: "out", contracts.AttrLane: string(contracts.CriticalLane),
		contracts.AttrAggregateID: "a", contracts.AttrAggregateVersion: "1", contracts.AttrIdempotencyKey: "k",
	}})
	if diff := cmp.Diff(figures{In: 1, Delivered: 1, Messages: 1}, figuresOf(l)); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	c.sample(&pb.PubsubMessage{Data: []byte(`{"lane":"CRITICAL_LANE","outcome":"acked","lagMs":5}
{"lane":"CRITICAL_LANE","outcome":"outage","lagMs":900}
no JSON
{"lane":"CRITICAL_LANE","outcome":"acked","lagMs":7}`)})
	if got := l.Totals(); got.Samples != 2 || got.Lanes[0].P99 != 7*time.Millisecond {
		t.Errorf("%d samples with a p99 of %v, want 2 with 7 ms", got.Samples, got.Lanes[0].P99)
	}
}
