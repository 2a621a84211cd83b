package cost_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
)

// bill is what was billed, by kind of collection.
type bill map[string]cost.Operations

// Kinds of collections.
const (
	ofOutboxes = "outboxes"
	ofLeases   = "leases"
	ofQueue    = "queue" // dead letters, and all that belongs to deciding about them
	ofClaims   = "claims"
)

func (w *world) kind(collection string) string {
	switch {
	case w.catalog.Outbox(collection) != nil:
		return ofOutboxes
	case collection == contracts.CollectionLeases:
		return ofLeases
	case slices.Contains([]string{"accounts", "claims-snapshots", "token-refresh-signals"}, collection):
		return ofClaims
	}
	return ofQueue
}

func operations(reads, writes, deletes int64) cost.Operations {
	return cost.Operations{Reads: float64(reads), Writes: float64(writes), Deletes: float64(deletes)}
}

// tolerance is how far a formula may be from what was billed.
const tolerance = 0.02

// judge compares what a formula says to what was billed, kind by kind: errors of
// two kinds must not make up for each other.
func judge(t *testing.T, run string, want, got bill) {
	t.Helper()
	for _, kind := range []string{ofOutboxes, ofLeases, ofQueue, ofClaims} {
		w, g := want[kind], got[kind]
		for _, n := range []struct {
			name      string
			want, got float64
		}{{"reads", w.Reads, g.Reads}, {"writes", w.Writes, g.Writes}, {"deletes", w.Deletes, g.Deletes}} {
			if n.want == 0 && n.got == 0 {
				continue
			}
			off := math.Abs(n.want-n.got) / math.Max(n.got, 1)
			line := fmt.Sprintf("%s: %s of %s: formula %.1f, billed %.0f, off by %.2f %%", run, n.name, kind, n.want, n.got, 100*off)
			if off > tolerance {
				t.Error(line)
			} else {
				t.Log(line)
			}
		}
	}
}
