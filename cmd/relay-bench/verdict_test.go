package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestTrend(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		bound  func(float64) float64
		want   string
	}{
		"flat":                         {[]float64{10, 10, 10, 10, 10, 10}, byRatio, "flat"},
		"at a tenth more":              {[]float64{100, 100, 105, 105, 110, 110}, byRatio, "flat"},
		"over a tenth more":            {[]float64{100, 100, 105, 105, 111, 111}, byRatio, "grows"},
		"less":                         {[]float64{100, 100, 50, 50, 20, 20}, byRatio, "flat"},
		"a peak is not the median":     {[]float64{10, 10, 10, 10, 10, 10, 10, 900, 10}, byRatio, "flat"},
		"five more":                    {[]float64{7, 7, 7, 7, 12, 12}, byCount, "flat"},
		"six more":                     {[]float64{7, 7, 7, 7, 13, 13}, byCount, "grows"},
		"six more of many":             {[]float64{700, 700, 700, 700, 706, 706}, byCount, "grows"},
		"the middle third is left out": {[]float64{10, 90, 10}, byRatio, "flat"},
		"nothing to compare":           {[]float64{10, 10}, byRatio, "grows"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := trendOf(name, c.values, c.bound); got.verdict() != c.want {
				t.Errorf("verdict %q of %+v, want %q", got.verdict(), got, c.want)
			}
		})
	}
}

// sampleReport is a soak of three minutes whose relay opens a file and leaks a
// goroutine every ten seconds, and whose BACKGROUND lag grows.
func sampleReport() *soakReport {
	began := time.Unix(1000, 0)
	r := &soakReport{held: 10, rate: 8, lasted: 3 * time.Minute}
	for i := range 37 {
		at := began.Add(time.Duration(i) * 5 * time.Second)
		r.samples = append(r.samples, soakSample{
			at: at.Add(time.Millisecond), goroutines: float64(100 + i/2), rss: 50 << 20, heap: 20 << 20,
			fds: float64(20 + i/10), cpu: float64(i),
		})
		for _, lane := range contracts.Lanes() {
			d := delivery{lane, at.Add(time.Second), 10 * time.Millisecond}
			if lane == contracts.BackgroundLane {
				d.lag *= time.Duration(1 + i)
			}
			r.deliveries = append(r.deliveries, d)
		}
	}
	return r
}

func TestSoakReport(t *testing.T) {
	r := sampleReport()
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"soak: 8 records/s (80 % of the 10 that are held) for 3m0s, one relay with leases",
		"from to records/s CRITICAL_LANE p50/p99 ms STANDARD_LANE p50/p99 ms BACKGROUND_LANE p50/p99 ms goroutines RSS MiB heap MiB fds CPU %",
		"0s 1m0s 0.60 10.0/10.0 10.0/10.0 60.0/120 103 50.0 20.0 20.0 20.0",
		"1m0s 2m0s 0.60 10.0/10.0 10.0/10.0 180/240 109 50.0 20.0 21.0 20.0",
		"2m0s 3m0s 0.60 10.0/10.0 10.0/10.0 300/360 115 50.0 20.0 23.0 20.0",
		"figure first third last third ratio at most",
		"goroutines 102 115 1.12 113 grows",
		"RSS MiB 50.0 50.0 1.00 55.0 flat",
		"fds 20.0 23.0 1.15 25.0 flat",
		"CRITICAL_LANE lag p50 ms 10.0 10.0 1.00 11.0 flat",
		"CRITICAL_LANE lag p99 ms 10.0 10.0 1.00 11.0 flat",
		"STANDARD_LANE lag p50 ms 10.0 10.0 1.00 11.0 flat",
		"STANDARD_LANE lag p99 ms 10.0 10.0 1.00 11.0 flat",
		"BACKGROUND_LANE lag p50 ms 65.0 305 4.69 71.5 grows",
		"BACKGROUND_LANE lag p99 ms 65.0 305 4.69 71.5 grows",
	}
	var got []string
	for row := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(row), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.missed() != 3 {
		t.Errorf("missed = %d, want 3", r.missed())
	}
}
