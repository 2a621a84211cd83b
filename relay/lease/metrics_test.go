package lease

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricsTellSinceWhen: a share that is owned since when, and 0 for the others. One
// whose lease has lapsed is nobody's until it is renewed.
func TestMetricsTellSinceWhen(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry, []string{"accOutbox", "orgOutbox"})
	told := func() map[string]float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]float64)
		for _, f := range families {
			if f.GetName() != "relay_lease_held" && f.GetName() != "relay_lease_since_timestamp_seconds" {
				continue
			}
			for _, metric := range f.GetMetric() {
				got[f.GetName()+" "+metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
		return got
	}
	m.hold("accOutbox", time.Unix(1_700_000_000, 500_000_000))
	want := map[string]float64{
		"relay_lease_held accOutbox": 1, "relay_lease_since_timestamp_seconds accOutbox": 1_700_000_000.5,
		"relay_lease_held orgOutbox": 0, "relay_lease_since_timestamp_seconds orgOutbox": 0,
	}
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("owned (-want +got):\n%s", diff)
	}
	m.lapse("accOutbox")
	want["relay_lease_held accOutbox"] = 0
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("lapsed (-want +got):\n%s", diff)
	}
	m.recover("accOutbox")
	want["relay_lease_held accOutbox"] = 1
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("recovered (-want +got):\n%s", diff)
	}
	m.leave("accOutbox")
	want["relay_lease_held accOutbox"], want["relay_lease_since_timestamp_seconds accOutbox"] = 0, 0
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
