package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/dlq"
)

// What a freeze lists is counted by each burial, also where many came in one commit, whose
// times are the same, and where news of an earlier one come later.
func TestEachBurialCountsInTheListOfItsFreeze(t *testing.T) {
	z := newFreezes(&dlq.Queue{}, zap.NewNop(), &Metrics{frozen: prometheus.NewGauge(prometheus.GaugeOpts{}), thaws: prometheus.NewCounter(prometheus.CounterOpts{})})
	at := time.Unix(1000, 0)
	for n := range 150 {
		z.dying("acc-1")
		z.buried(&dlq.Freeze{AggregateID: "acc-1", State: dlq.Frozen, UpdateTime: at.Add(-time.Duration(n/50) * time.Second)}, fmt.Sprint(n))
		if got, want := len(z.listed("acc-1")), min(n+1, dlq.ListedMost); got != want {
			t.Fatalf("after %d burials %d are known, want %d", n+1, got, want)
		}
	}
	z.toldOne(&dlq.Freeze{AggregateID: "acc-1", State: dlq.Frozen, UpdateTime: at.Add(-time.Second), DeadLetters: []string{"0"}})
	if got := len(z.listed("acc-1")); got != dlq.ListedMost {
		t.Errorf("%d are known after old news, want %d", got, dlq.ListedMost)
	}
	z.toldOne(&dlq.Freeze{AggregateID: "acc-1", State: dlq.Frozen, UpdateTime: at.Add(time.Second), DeadLetters: []string{"0", "151"}})
	if got := len(z.listed("acc-1")); got != 2 {
		t.Errorf("%d are known, want the 2 of the latest news", got)
	}
}
