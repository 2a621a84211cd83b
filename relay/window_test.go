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
		if !after.Zero() && !after.Before(p) {
			t.Errorf("after %v the canary is at %v, in front of the window", after, p)
		}
		if next := (Position{At: at(1001), ID: "a"}); !after.Zero() && !p.Before(next) {
			t.Errorf("after %v the canary is at %v, behind %v", after, p, next)
		}
	}
}
