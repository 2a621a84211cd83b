package publisher

import (
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// RelayBreakerOpen asks how many rows wait behind the breaker, as it does of the relay: without them it is never told.
func TestMetricsTellWhatWaitsForATopicThatIsOut(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(5, 2)
	f.append(list...)
	if _, err := f.pool.Exec(t.Context(), `UPDATE outbox_events SET attempt_count = 10 WHERE id = $1`, list[9].id); err != nil {
		t.Fatal(err)
	}
	f.shelf.failing(func(uuid.UUID, int) error { return errOut })
	o := f.options()
	reg := prometheus.NewRegistry()
	o.Registerer = reg
	waiting := func() float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if m := family.GetMetric(); family.GetName() == "relay_target_waiting_records" && m[0].GetLabel()[0].GetValue() == DefaultTopic {
				return m[0].GetGauge().GetValue()
			}
		}
		t.Fatal("there is no such series")
		return 0
	}
	p, _ := f.start(o)
	f.await("those that are not parked wait", func() bool { return waiting() == 9 })
	f.shelf.failing(nil)
	f.await("the breaker closes", func() bool { return p.Breaker().State == "closed" })
	if got := waiting(); got != 0 {
		t.Errorf("%v wait for a topic that answers", got)
	}
}
