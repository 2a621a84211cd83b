package relay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestLedgerConsiders(t *testing.T) {
	doc := func(readAt int64) Doc {
		return Doc{ID: "a", CreateTime: at(1), UpdateTime: at(1), ReadTime: at(readAt)}
	}
	tests := []struct {
		name string
		past func(l *ledger, e *entry) // what became of e, which was admitted
		doc  Doc
		want consideration
	}{
		{"in memory", func(*ledger, *entry) {}, doc(5), considerKnown},
		{"settled after the read", func(l *ledger, e *entry) { l.remove(e, at(10)) }, doc(9), considerKnown},
		{"settled, and an old version read afterwards", func(l *ledger, e *entry) { l.remove(e, at(10)) }, doc(11), considerKnown},
		{"settled as pending, and read", func(l *ledger, e *entry) { l.remove(e, at(10)) }, Doc{ID: "a", CreateTime: at(1), UpdateTime: at(10), ReadTime: at(11)}, considerTake},
		{"left without a write", func(l *ledger, e *entry) { l.remove(e, time.Time{}) }, doc(5), considerTake},
		{"deleted, and read before", func(l *ledger, e *entry) { l.deleted(e) }, doc(1_000), considerKnown},
		{"deleted, and appended anew", func(l *ledger, e *entry) { l.deleted(e) }, Doc{ID: "a", CreateTime: at(20), ReadTime: at(30)}, considerTake},
		{"about to leave", func(_ *ledger, e *entry) { e.stage, e.left = stageLeaving, make(chan struct{}) }, doc(5), considerWait},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLedger()
			e := &entry{doc: doc(2), rec: &contracts.Record{}}
			if !l.admitStray(e) {
				t.Fatal("not admitted")
			}
			test.past(l, e)
			if got, _ := l.consider(test.doc); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCutLastGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 20).Draw(t, "times")
		slices.Sort(times)
		docs := make([]Doc, len(times))
		for i, ms := range times {
			docs[i] = Doc{ID: fmt.Sprint(i), CreatedAt: at(ms)}
		}
		complete, cut := cutLastGroup(docs)
		if len(complete)+len(cut) != len(docs) || len(docs) > 0 && len(cut) == 0 {
			t.Fatalf("cut %d documents into %d and %d", len(docs), len(complete), len(cut))
		}
		for _, d := range cut {
			if !d.CreatedAt.Equal(docs[len(docs)-1].CreatedAt) {
				t.Fatalf("cut holds %v, which is not the last group's", d.CreatedAt)
			}
		}
		if len(complete) > 0 && complete[len(complete)-1].CreatedAt.Equal(cut[0].CreatedAt) {
			t.Fatal("a group was cut through")
		}
	})
}

// A window that starts behind a position begins with its canary.
func TestCanaryStandsInItsWindow(t *testing.T) {
	for _, after := range []Position{{}, {At: at(1000)}} {
		c := canaryFor(Scan{Outbox: "o", Kind: ScanLane, Lane: contracts.StandardLane, After: after})
		p := Position{At: c.fields[contracts.FieldCreatedAt].(time.Time), ID: c.id}
		if !after.Zero() && !after.before(p) {
			t.Errorf("after %v the canary is at %v, in front of the window", after, p)
		}
		if next := (Position{At: at(1001), ID: "a"}); !after.Zero() && !p.before(next) {
			t.Errorf("after %v the canary is at %v, behind %v", after, p, next)
		}
	}
}
