package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	r := newResults([]figure{
		{"rate", "records/s", ratioAtLeast(0.9)},
		{"cpu", "CPU", ratioAtMost(1.3)},
		{"writes", "writes", atMost(1.01)},
		{"start", "start", noAim},
		{"absent", "never measured", atMost(1)},
	})
	r.add(sideFloor, 0, readings{"rate": 1000, "cpu": 100, "writes": 1, "start": 5})
	r.add(sideRelay, 0, readings{"rate": 950, "cpu": 150, "writes": 1, "start": 12.3})
	r.add(sideFloor, 1, readings{"rate": 2000, "cpu": 100})
	r.add(sideRelay, 1, readings{"rate": 1800, "cpu": 130})
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"figure floor relay ratio aim floor's runs relay's runs",
		"records/s 1500 1375 0.93 ratio >= 0.9 ok 1000 2000 950 1800",
		"CPU 100 140 1.40 ratio <= 1.3 over 100 100 150 130",
		"writes 1.00 1.00 1.00 <= 1.01 ok 1.00 1.00",
		"start 5.00 12.3 2.46 5.00 12.3",
		"never measured n/a n/a n/a <= 1",
	}
	var got []string
	for row := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(row), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.missed() != 1 {
		t.Errorf("missed = %d, want 1", r.missed())
	}
}

func TestRatiosArePairwise(t *testing.T) {
	// The machine was twice as fast in the second round. Each pair says that
	// the relay is as fast as the floor, and so must the ratio.
	r := newResults([]figure{{"rate", "records/s", ratioAtLeast(0.9)}})
	r.add(sideFloor, 0, readings{"rate": 1000})
	r.add(sideRelay, 0, readings{"rate": 1000})
	r.add(sideFloor, 1, readings{"rate": 2000})
	r.add(sideRelay, 1, readings{"rate": 2000})
	r.add(sideRelay, 2, readings{"rate": 9000}) // its floor failed
	got := r.lines()[0]
	if diff := cmp.Diff([]float64{1, 1}, got.ratios); diff != "" || got.verdict() != "ok" {
		t.Errorf("verdict %q, ratios (-want +got):\n%s", got.verdict(), diff)
	}
}

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"nothing": {nil, math.NaN()},
		"one":     {[]float64{3}, 3},
		"odd":     {[]float64{9, 1, 3}, 3},
		"even":    {[]float64{9, 1, 3, 5}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := median(c.values); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	got := map[string]string{
		"nothing": number(math.NaN()), "zero": number(0), "small": number(0.934), "tens": number(42.26), "large": number(15818.3),
	}
	want := map[string]string{"nothing": "n/a", "zero": "0", "small": "0.93", "tens": "42.3", "large": "15818"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
