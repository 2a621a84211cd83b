package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
)

func TestSLAIsJudgedAtDoneAlone(t *testing.T) {
	const sla, work = 10 * time.Second, 3 * time.Second
	tests := map[string]struct {
		age     time.Duration // of the task when it is submitted
		verdict Verdict
		want    Stats
	}{
		"in time":            {sla - work, Verdict{}, Stats{Delivered: 1}},
		"late":               {sla - work + 1, Verdict{}, Stats{Delivered: 1, Breaches: 1}},
		"late, but dropped":  {time.Hour, Verdict{Action: Drop}, Stats{}},
		"from another clock": {-time.Hour, Verdict{}, Stats{Delivered: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.takes = work
				s.verdict = func(string, int) Verdict { return tt.verdict }
				p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: sla, Workers: 1, Run: 1}})
				p.Start(t.Context())
				a := task("a/1")
				a.Appended = time.Now().Add(-tt.age)
				if err := p.Submit(a); err != nil {
					t.Fatal(err)
				}
				time.Sleep(work)
				synctest.Wait()
				if diff := cmp.Diff(tt.want, p.Stats()); diff != "" {
					t.Errorf("stats (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestStatsTellWhatIsInTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = time.Second
		s.verdict = failFirst(time.Hour, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: 5 * time.Second, Workers: 1, Run: 2}})
		p.Start(t.Context())
		start := time.Now()
		submit(t, p, "a/1")
		time.Sleep(4 * time.Second)
		p.Pause() // so that all are there when the worker begins
		submit(t, p, "a/2", "b/1", "b/2", "b/3", "c/1")
		p.Resume()
		time.Sleep(1500 * time.Millisecond) // b/1 and b/2 are done, c/1 runs
		got := p.Stats()
		if got.Delivered != 2 || got.Running != 1 || got.Queued != 1 || got.Waiting != 2 {
			t.Errorf("stats %+v, want 2 delivered, 1 running, 1 queued, 2 waiting", got)
		}
		if !got.Oldest.Equal(start) || got.Overdue != 1 {
			t.Errorf("oldest %v, %d overdue; want %v, 1", got.Oldest, got.Overdue, start)
		}
	})
}

func TestWaitedAndBackedOff(t *testing.T) {
	type clocks struct{ Waited, BackedOff time.Duration }
	synctest.Test(t, func(t *testing.T) {
		got := make(map[string][]clocks)
		given := 0
		p := setup(t, Config{
			Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 2},
			Handler: func(_ context.Context, run []*Task) []Verdict {
				time.Sleep(2 * time.Second)
				verdicts := make([]Verdict, len(run))
				for _, task := range run {
					id := idOf(task)
					got[id] = append(got[id], clocks{task.Waited(), task.BackedOff()})
				}
				if given++; given == 1 {
					verdicts[0] = Verdict{Action: Retry, At: time.Now().Add(5 * time.Second)}
					verdicts[1] = Verdict{Action: Again}
				}
				return verdicts
			},
		})
		submit(t, p, "a/1", "a/2", "a/3", "b/1")
		time.Sleep(time.Second) // 1s waited by all
		p.Start(t.Context())    // a/1 a/2 until 3s, b/1 until 5s
		time.Sleep(3500 * time.Millisecond)
		last := task("a/4") // at 4.5s: a waits until 8s, a/1 a/2 run until 10s
		if err := p.Submit(last); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s := time.Second
		want := map[string][]clocks{
			"a/1": {{1 * s, 0}, {1 * s, 5 * s}},
			"a/2": {{1 * s, 0}, {1 * s, 5 * s}},
			"a/3": {{5 * s, 5 * s}},
			"a/4": {{2 * s, 3500 * time.Millisecond}},
			"b/1": {{3 * s, 0}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("clocks (-want +got):\n%s", diff)
		}
		if got := (clocks{last.Waited(), last.BackedOff()}); got != want["a/4"][0] {
			t.Errorf("after it left: got %v, want %v", got, want["a/4"][0])
		}
	})
}

// sample is one series of a scrape.
type sample struct {
	Name  string
	Value float64 // of a histogram: its sum
	Count uint64  // of a histogram
}

// scrape gathers the series of one lane, "name" or "name/state".
func scrape(t *testing.T, reg *prometheus.Registry, lane contracts.Lane) []sample {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s, of := sample{Name: f.GetName()}, ""
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "lane":
					of = l.GetValue()
				case "state":
					s.Name += "/" + l.GetValue()
				}
			}
			s.Value = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			s.Count = m.GetHistogram().GetSampleCount()
			if of == string(lane) {
				out = append(out, s)
			}
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		log, _ := observed()
		s := newScript()
		s.takes = time.Second
		s.verdict = func(id string, nth int) Verdict {
			switch {
			case id == "faulty/1" && nth == 1:
				panic("boom")
			case id == "sick/1":
				return Verdict{Action: Retry, At: time.Now().Add(time.Hour)}
			}
			return Verdict{}
		}
		p := setup(t, Config{
			Handler: s.handle, Metrics: NewMetrics(reg), Log: log,
			Policy: contracts.LanePolicy{SLA: 3500 * time.Millisecond, Workers: 1, Run: 1},
		})
		submit(t, p, "faulty/1", "sick/1", "a/1", "b/1", "c/1", "d/1")
		p.Start(t.Context())
		time.Sleep(5500 * time.Millisecond) // a/1 at 3s, b/1 at 4s, c/1 at 5s, d/1 runs
		p.Pause()
		want := []sample{
			{"relay_lane_done_total", 3, 0},
			{"relay_lane_handler_faults_total", 1, 0},
			{"relay_lane_oldest_age_seconds", 5.5, 0},
			{"relay_lane_overdue_tasks", 3, 0},
			{"relay_lane_paused", 1, 0},
			{"relay_lane_sla_breaches_total", 2, 0},
			{"relay_lane_tasks/queued", 1, 0},
			{"relay_lane_tasks/running", 1, 0},
			{"relay_lane_tasks/waiting", 1, 0},
			{"relay_lane_wait_seconds", 2 + 3 + 4, 3},
		}
		if diff := cmp.Diff(want, scrape(t, reg, contracts.StandardLane)); diff != "" {
			t.Errorf("lane with a pool (-want +got):\n%s", diff)
		}
		for i := range want {
			want[i].Value, want[i].Count = 0, 0
		}
		if diff := cmp.Diff(want, scrape(t, reg, contracts.CriticalLane)); diff != "" {
			t.Errorf("lane without a pool (-want +got):\n%s", diff)
		}
		NewMetrics(nil) // registers nowhere
	})
}
