package pubsub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// topicFunc starts a sampler over a topic made of one function.
func topicFunc(cfg SamplerConfig, reg *prometheus.Registry, publish func(context.Context, *contracts.Message) error) *Sampler {
	cfg.Topic = "domain-metrics"
	cfg.Metrics = NewMetrics(reg)
	return newSampler(cfg.withDefaults(), publish).start()
}

// lost is the samples' counter of that result.
func lost(t *testing.T, reg *prometheus.Registry, result string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "relay_lag_samples_total" && m.GetLabel()[0].GetValue() == result {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no counter of samples %s", result)
	return 0
}

func eventIDs(t *testing.T, data []byte) []string {
	t.Helper()
	var ids []string
	for line := range bytes.Lines(data) {
		var sample ier.LagSample
		if err := json.Unmarshal(line, &sample); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		ids = append(ids, sample.EventID)
	}
	return ids
}

func TestSamplesTravelTogether(t *testing.T) {
	tests := []struct {
		name string
		cfg  SamplerConfig
		n    int
		want [][]string
		wait time.Duration // until the last message
	}{
		{"sent when there are enough", SamplerConfig{MaxSamples: 2}, 4, [][]string{{"1", "2"}, {"3", "4"}}, 0},
		{"sent when they are big enough", SamplerConfig{MaxBytes: 1}, 2, [][]string{{"1"}, {"2"}}, 0},
		{"sent after the linger", SamplerConfig{}, 3, [][]string{{"1", "2", "3"}}, time.Second},
		{"nothing to send", SamplerConfig{}, 0, nil, time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got [][]string
				start, last := time.Now(), time.Now()
				s := topicFunc(test.cfg, prometheus.NewRegistry(), func(_ context.Context, m *contracts.Message) error {
					got, last = append(got, eventIDs(t, m.Data)), time.Now()
					return nil
				})
				for i := range test.n {
					s.Sample(ier.LagSample{EventID: fmt.Sprint(i + 1)})
				}
				time.Sleep(test.wait)
				synctest.Wait()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
				if test.n > 0 && last.Sub(start) != test.wait {
					t.Errorf("last message after %v, want %v", last.Sub(start), test.wait)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestHangingTopicBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := topicFunc(SamplerConfig{Buffer: 10, MaxSamples: 5}, reg, func(ctx context.Context, _ *contracts.Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		for range 5 {
			s.Sample(ier.LagSample{})
		}
		synctest.Wait() // the topic holds these five now
		start := time.Now()
		for range 1000 {
			s.Sample(ier.LagSample{})
		}
		if got := time.Since(start); got != 0 {
			t.Errorf("samples waited %v for the topic", got)
		}
		if got := lost(t, reg, samplesOverflowed); got != 990 {
			t.Errorf("%v samples overflowed, want 990", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a hanging topic: %v, want the deadline", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("Close took %v, want its deadline of 1s", got)
		}
		synctest.Wait()
		if got := lost(t, reg, samplesRefused); got != 15 {
			t.Errorf("%v samples were refused, want the 15 under way and buffered", got)
		}
	})
}

func TestCloseSendsWhatIsBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		var got []string
		s := topicFunc(SamplerConfig{}, reg, func(_ context.Context, m *contracts.Message) error {
			got = append(got, eventIDs(t, m.Data)...)
			return nil
		})
		s.Sample(ier.LagSample{EventID: "1"})
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.Sample(ier.LagSample{EventID: "late"})
		if diff := cmp.Diff([]string{"1"}, got); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
		if got := lost(t, reg, samplesOverflowed); got != 1 {
			t.Errorf("%v samples lost after Close, want 1", got)
		}
	})
}

func TestRefusedSamplesAreCountedAndTheNextOnesSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		down := true
		s := topicFunc(SamplerConfig{MaxSamples: 1}, reg, func(context.Context, *contracts.Message) error {
			if down {
				return errors.New("down")
			}
			return nil
		})
		s.Sample(ier.LagSample{})
		synctest.Wait()
		down = false
		s.Sample(ier.LagSample{})
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if refused, published := lost(t, reg, samplesRefused), lost(t, reg, samplesPublished); refused != 1 || published != 1 {
			t.Errorf("%v refused and %v published, want 1 and 1", refused, published)
		}
	})
}

func TestSamplesArriveAsLinesOfJSON(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		topic := c.topic(t)
		s, err := NewSampler(c.clients.Background(), SamplerConfig{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		s.Sample(ier.LagSample{
			At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Outbox: "accOutbox", Lane: contracts.CriticalLane,
			EventType: "RoleChanged", Target: "FUNNEL", Attempt: 2, Outcome: "outage", Code: "Unavailable",
			LagMs: 100, FirestoreMs: 40, LaneMs: 10, DeliveryMs: 30, BackoffMs: 20, TraceID: "t-1", EventID: "e-1",
		})
		s.Sample(ier.LagSample{EventID: "e-2"})
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := c.messages(t, topic, 1)
		if len(got) != 1 {
			t.Fatalf("%d messages, want 1", len(got))
		}
		first, _, _ := bytes.Cut(got[0].Data, []byte("\n"))
		want := `{"at":"2026-01-02T03:04:05Z","outbox":"accOutbox","lane":"CRITICAL_LANE","eventType":"RoleChanged","target":"FUNNEL",` +
			`"attempt":2,"outcome":"outage","code":"Unavailable","lagMs":100,"firestoreMs":40,"laneMs":10,"deliveryMs":30,"backoffMs":20,` +
			`"traceId":"t-1","eventId":"e-1"}`
		if diff := cmp.Diff(want, string(first)); diff != "" {
			t.Errorf("first line (-want +got):\n%s", diff)
		}
		wantAttributes := map[string]string{"metric": "relay_lag", "contentType": "application/x-ndjson", "samples": "2"}
		if diff := cmp.Diff(wantAttributes, got[0].Attributes); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	})
}

func TestSamplerOverAHangingServerClosesInTime(t *testing.T) {
	c := setup(t)
	c.server.fail(func(ctx context.Context, _ *pubsubpb.PublishRequest) error {
		<-ctx.Done()
		return ctx.Err()
	})
	s, err := NewSampler(c.clients.Background(), SamplerConfig{Topic: c.topic(t), Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.Sample(ier.LagSample{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); err == nil {
		t.Error("Close reported success with a request under way")
	}
	<-s.done
}

func TestSamplerRefusesABrokenConfiguration(t *testing.T) {
	c := setup(t)
	for _, cfg := range []SamplerConfig{{}, {Topic: "t", Linger: -1}, {Topic: "t", Buffer: -1}} {
		if _, err := NewSampler(c.clients.Background(), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
