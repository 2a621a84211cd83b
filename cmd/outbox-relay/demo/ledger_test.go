package demo

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

func TestMain(m *testing.M) {
	// The client libraries' metrics start a worker for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// arrival is version n of aggregate "a" at target.
func arrival(target string, n int64) Arrival {
	return Arrival{
		Target: target, Outbox: "out", Lane: contracts.StandardLane,
		Aggregate: "a", Version: n, Key: "k" + strconv.FormatInt(n, 10),
	}
}

// appended announces version n of aggregate "a" and appends it.
func appended(l *Ledger, n int64, targets ...string) {
	key := "k" + strconv.FormatInt(n, 10)
	l.Expect(key, contracts.StandardLane, targets)
	l.Appended(key)
}

// figures are what a test compares.
type figures struct{ In, Delivered, Messages, Duplicates, Replayed, OutOfOrder, Foreign int64 }

func figuresOf(l *Ledger) figures {
	t := l.Totals()
	in, delivered := t.Sum()
	return figures{in, delivered, t.Messages, t.Duplicates, t.Replayed, t.OutOfOrder, t.Foreign}
}

func TestLedger(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(*Ledger)
		want figures
	}{
		{"a record that has not arrived", func(l *Ledger) { appended(l, 1, "A") }, figures{In: 1}},
		{"a record at its target", func(l *Ledger) {
			appended(l, 1, "A")
			l.Arrive(arrival("A", 1))
		}, figures{In: 1, Delivered: 1, Messages: 1}},
		{"a record at one of two targets", func(l *Ledger) {
			appended(l, 1, "A", "B")
			l.Arrive(arrival("A", 1))
		}, figures{In: 1, Messages: 1}},
		{"a record at both targets", func(l *Ledger) {
			appended(l, 1, "A", "B")
			l.Arrive(arrival("A", 1))
			l.Arrive(arrival("B", 1))
		}, figures{In: 1, Delivered: 1, Messages: 2}},
		{"a message faster than the append's answer", func(l *Ledger) {
			l.Expect("k1", contracts.StandardLane, []string{"A"})
			l.Arrive(arrival("A", 1))
			l.Appended("k1")
		}, figures{In: 1, Delivered: 1, Messages: 1}},
		{"an append that did not happen", func(l *Ledger) {
			l.Expect("k1", contracts.StandardLane, []string{"A"})
			l.Forget("k1")
		}, figures{}},
		{"a repeat", func(l *Ledger) {
			appended(l, 1, "A")
			l.Arrive(arrival("A", 1))
			l.Arrive(arrival("A", 1))
		}, figures{In: 1, Delivered: 1, Messages: 2, Duplicates: 1}},
		{"a repeat of an old one is not out of order", func(l *Ledger) {
			appended(l, 1, "A")
			appended(l, 2, "A")
			l.Arrive(arrival("A", 1))
			l.Arrive(arrival("A", 2))
			l.Arrive(arrival("A", 1))
		}, figures{In: 2, Delivered: 2, Messages: 3, Duplicates: 1}},
		{"a record after a later one", func(l *Ledger) {
			appended(l, 1, "A")
			appended(l, 2, "A")
			l.Arrive(arrival("A", 2))
			l.Arrive(arrival("A", 1))
		}, figures{In: 2, Delivered: 2, Messages: 2, OutOfOrder: 1}},
		{"a replay after a later one", func(l *Ledger) {
			appended(l, 1, "A")
			appended(l, 2, "A")
			l.Arrive(arrival("A", 2))
			replay := arrival("A", 1)
			replay.Replay = true
			l.Arrive(replay)
		}, figures{In: 2, Delivered: 2, Messages: 2, Replayed: 1}},
		{"targets do not order each other", func(l *Ledger) {
			appended(l, 1, "A")
			appended(l, 2, "B")
			l.Arrive(arrival("B", 2))
			l.Arrive(arrival("A", 1))
		}, figures{In: 2, Delivered: 2, Messages: 2}},
		{"a record of somebody else", func(l *Ledger) { l.Arrive(arrival("A", 1)) }, figures{Messages: 1, Foreign: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := NewLedger()
			tc.run(l)
			if diff := cmp.Diff(tc.want, figuresOf(l)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLedgerNamesWhatIsMissing(t *testing.T) {
	l := NewLedger()
	appended(l, 1, "A", "B")
	appended(l, 2, "A")
	l.Arrive(arrival("A", 1))
	if diff := cmp.Diff(map[string][]string{"k1": {"B"}, "k2": {"A"}}, l.Missing(10)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"k1": {"B"}}, l.Missing(1)); diff != "" {
		t.Errorf("the first missing (-want +got):\n%s", diff)
	}
}

func TestLedgerLags(t *testing.T) {
	l := NewLedger()
	for ms := range 100 {
		l.Lag(contracts.CriticalLane, time.Duration(ms+1)*time.Millisecond)
	}
	l.Lag("NO_LANE", time.Second)
	got := l.Totals()
	if got.Samples != 100 {
		t.Errorf("%d samples, want 100", got.Samples)
	}
	want := LaneTotals{
		Lane: contracts.CriticalLane,
		P50:  50 * time.Millisecond, P99: 99 * time.Millisecond, LateP50: 50 * time.Millisecond, LateP99: 99 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got.Lanes[0]); diff != "" {
		t.Errorf("lane (-want +got):\n%s", diff)
	}
	for range lagWindows {
		l.Rotate()
	}
	want.LateP50, want.LateP99 = 0, 0
	if diff := cmp.Diff(want, l.Totals().Lanes[0]); diff != "" {
		t.Errorf("lane a minute later (-want +got):\n%s", diff)
	}
}

// Whatever arrives in whatever order, the ledger agrees with a plain count over
// the whole history.
func TestLedgerAgreesWithItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := []string{"A", "B"}
		l, want := NewLedger(), figures{}
		wanted := map[int64][]string{}
		var history []Arrival
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "append") {
				n := int64(len(wanted) + 1)
				wanted[n] = targets[:rapid.IntRange(1, 2).Draw(t, "targets")]
				appended(l, n, wanted[n]...)
			} else if len(wanted) > 0 {
				n := rapid.Int64Range(1, int64(len(wanted))).Draw(t, "version")
				a := arrival(rapid.SampledFrom(wanted[n]).Draw(t, "target"), n)
				a.Replay = rapid.Bool().Draw(t, "replay")
				l.Arrive(a)
				history = append(history, a)
			}
		}
		first := map[delivery]bool{}
		highest := map[string]int64{}
		for _, a := range history {
			want.Messages++
			switch {
			case first[delivery{a.Target, a.Key}]:
				want.Duplicates++
				continue
			case a.Replay:
				want.Replayed++
				first[delivery{a.Target, a.Key}] = true
				continue
			case a.Version < highest[a.Target]:
				want.OutOfOrder++
			}
			first[delivery{a.Target, a.Key}] = true
			highest[a.Target] = max(highest[a.Target], a.Version)
		}
		for n, targets := range wanted {
			want.In++
			arrived := 0
			for _, target := range targets {
				if first[delivery{target, "k" + strconv.FormatInt(n, 10)}] {
					arrived++
				}
			}
			if arrived == len(targets) {
				want.Delivered++
			}
		}
		if diff := cmp.Diff(want, figuresOf(l)); diff != "" {
			t.Fatalf("figures (-want +got):\n%s", diff)
		}
	})
}

func TestRecentForgetsTheOldest(t *testing.T) {
	r := newRecent[int, int](10)
	for i := range 100 {
		r.set(i, i)
	}
	for i := 90; i < 100; i++ {
		if v, ok := r.get(i); !ok || v != i {
			t.Errorf("key %d is forgotten, though it is one of the last 10", i)
		}
	}
	if n := len(r.young) + len(r.old); n > 20 {
		t.Errorf("%d keys are kept, want 20 at most", n)
	}
}
