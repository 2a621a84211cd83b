package relay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/dlq"
)

// A relay that starts tells of the freezes that it finds as of such that stand, however old
// they are; what is frozen or released from then on is news.
func TestFreezesThatStandAtTheStartAreNoNews(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	z := newFreezes(&dlq.Queue{}, zap.New(core), &Metrics{frozen: prometheus.NewGauge(prometheus.GaugeOpts{}), thaws: prometheus.NewCounter(prometheus.CounterOpts{})})
	at := time.Unix(1000, 0).UTC()
	freeze := func(id string, state dlq.FreezeState, second int) *dlq.Freeze {
		return &dlq.Freeze{AggregateID: id, State: state, FrozenAt: at, UpdateTime: at.Add(time.Duration(second) * time.Second)}
	}
	z.told([]*dlq.Freeze{freeze("watched", dlq.Frozen, 1)})
	z.read([]*dlq.Freeze{freeze("watched", dlq.Frozen, 1), freeze("read", dlq.Releasing, 2)}, at)
	z.told([]*dlq.Freeze{freeze("watched", dlq.Releasing, 3), freeze("read", dlq.Releasing, 2), freeze("new", dlq.Frozen, 4)})
	var got []string
	for _, l := range logs.All() {
		if l.ContextMap()["frozenAt"] != at {
			t.Errorf("%q does not say since when: %v", l.Message, l.ContextMap())
		}
		got = append(got, l.Message+": "+l.ContextMap()["aggregateId"].(string))
	}
	want := []string{"aggregate stands frozen: watched", "aggregate stands releasing: read", "aggregate releasing: watched", "aggregate frozen: new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
