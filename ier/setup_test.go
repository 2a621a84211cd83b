package ier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"outboxrelay/contracts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// targetFunc is a target made of one function.
type targetFunc func(ctx context.Context, parcels []Parcel) []error

func (f targetFunc) Deliver(ctx context.Context, parcels []Parcel) []error { return f(ctx, parcels) }

// scripted is a target that keeps the contract of Target: it answers each
// parcel by its script and leaves behind what follows a failure.
type scripted struct {
	answer func(rec *contracts.Record) error

	mu    sync.Mutex
	calls int
	acked []string // event IDs in order of acknowledgement
}

func (s *scripted) Deliver(_ context.Context, parcels []Parcel) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	errs := make([]error, len(parcels))
	for i, p := range parcels {
		if err := s.answer(p.Record); err != nil {
			errs[i] = err
			for j := i + 1; j < len(errs); j++ {
				errs[j] = ErrBehind
			}
			return errs
		}
		s.acked = append(s.acked, p.Record.EventID)
	}
	return errs
}

func acks(*contracts.Record) error { return nil }

func fails(kind contracts.Kind, code string) error {
	return &contracts.Failure{Kind: kind, Code: code, Err: errors.New("scripted")}
}

// collector is a sampler that keeps all samples.
type collector struct {
	mu      sync.Mutex
	samples []LagSample
}

func (c *collector) Sample(s LagSample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, s)
}

func setup(t *testing.T, cfg Config) *Router {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newJob is the version-th record of an aggregate, for the given targets.
func newJob(version int, targets ...string) *Job {
	id := fmt.Sprintf("event-%d", version)
	return &Job{
		Record: &contracts.Record{
			Outbox: "accOutbox", ID: id, EventID: id, EventType: "RoleChanged", EventVersion: 1,
			AggregateID: "account-1", AggregateVersion: int64(version), TraceID: "trace-" + id,
			IdempotencyKey: contracts.IdempotencyKey(id, "account-1", int64(version)),
			CreatedAt:      time.Now(),
		},
		Data: []byte(`{}`), Lane: contracts.CriticalLane, Targets: targets, Attempt: 1,
	}
}

// value is the sum of a metric's series that carry all given label values:
// counts of histograms, values of counters and gauges.
func value(t *testing.T, reg *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	found := false
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
	series:
		for _, m := range family.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[l.GetValue()] = true
			}
			for _, want := range labels {
				if !has[want] {
					continue series
				}
			}
			found = true
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	if !found {
		t.Errorf("metric %s with labels %v is not there", name, labels)
	}
	return sum
}
