package table

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	floor, polled, relay Side = "floor", "polled", "relay"
)

var soon = MoreAtMost(300, floor)

func of(figures ...Figure) *Results { return New(figures, relay, floor, polled, relay) }

func TestTable(t *testing.T) {
	r := of(
		NewFigure("rate", "records/s", AtLeast(1, floor), AtLeast(1, polled)),
		NewFigure("cpu", "CPU", AtMost(0.85, polled)),
		NewFigure("writes", "writes", AtMost(1.01, Alone)),
		NewFigure("start", "start", soon),
		NewFigure("absent", "never measured", AtMost(1, Alone)),
	)
	r.Add(floor, 0, Readings{"rate": 1000, "cpu": 100, "writes": 1, "start": 5})
	r.Add(polled, 0, Readings{"rate": 800, "cpu": 200})
	r.Add(relay, 0, Readings{"rate": 950, "cpu": 150, "writes": 1, "start": 12.3})
	r.Add(floor, 1, Readings{"rate": 2000, "cpu": 100})
	r.Add(polled, 1, Readings{"rate": 1600, "cpu": 200})
	r.Add(relay, 1, Readings{"rate": 1800, "cpu": 130})
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"figure floor polled relay relay/floor relay/polled aim floor's runs polled's runs relay's runs",
		"records/s 1500 1200 1375 0.93 1.16 >= 1 of floor, >= 1 of polled over 1000 2000 800 1600 950 1800",
		"CPU 100 200 140 1.40 0.70 <= 0.85 of polled ok 100 100 200 200 150 130",
		"writes 1.00 n/a 1.00 1.00 n/a <= 1.01 ok 1.00 1.00",
		"start 5.00 n/a 12.3 2.46 n/a <= floor + 300 ok 5.00 12.3",
	}
	var got []string
	for row := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(row), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Missed() != 1 {
		t.Errorf("missed = %d, want 1", r.Missed())
	}
}

func TestRatiosArePairwise(t *testing.T) {
	// The machine was twice as fast in the second round. Each pair says that
	// the relay is as fast as the floor, and so must the ratio.
	r := of(NewFigure("rate", "records/s", AtLeast(0.9, floor)))
	r.Add(floor, 0, Readings{"rate": 1000})
	r.Add(relay, 0, Readings{"rate": 1000})
	r.Add(floor, 1, Readings{"rate": 2000})
	r.Add(relay, 1, Readings{"rate": 2000})
	r.Add(relay, 2, Readings{"rate": 9000}) // its floor failed
	got := r.Lines()[0]
	if diff := cmp.Diff([]float64{1, 1}, got.ratios[floor]); diff != "" || got.verdict() != "ok" {
		t.Errorf("verdict %q, ratios (-want +got):\n%s", got.verdict(), diff)
	}
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		aims                 []Aim
		relay, floor, polled []float64 // by round
		want                 string
	}{
		"nothing aimed at":              {nil, []float64{1}, []float64{1}, nil, ""},
		"not measured":                  {[]Aim{AtMost(1, Alone)}, nil, []float64{1}, nil, ""},
		"no floor to compare with":      {[]Aim{AtMost(1, polled)}, []float64{1}, []float64{1}, nil, ""},
		"the median counts":             {[]Aim{AtMost(5, Alone)}, []float64{4, 5, 90}, nil, nil, "ok"},
		"what must not happen, once":    {[]Aim{Never}, []float64{0, 0, 1}, nil, nil, "over"},
		"what must not happen, and not": {[]Aim{Never}, []float64{0, 0, 0}, nil, nil, "ok"},
		"better than both floors":       {[]Aim{AtLeast(1, floor), AtLeast(1, polled)}, []float64{9}, []float64{8}, []float64{7}, "ok"},
		"as much more as may be":        {[]Aim{soon}, []float64{320}, []float64{20}, nil, "ok"},
		"too much more in most rounds":  {[]Aim{soon}, []float64{330, 50, 330}, []float64{20, 20, 20}, nil, "over"},
		"worse than one of them":        {[]Aim{AtLeast(1, floor), AtLeast(1, polled)}, []float64{9}, []float64{8}, []float64{10}, "over"},
	} {
		t.Run(name, func(t *testing.T) {
			r := of(NewFigure("it", "it", c.aims...))
			for who, runs := range map[Side][]float64{relay: c.relay, floor: c.floor, polled: c.polled} {
				for round, v := range runs {
					r.Add(who, round, Readings{"it": v})
				}
			}
			if got := r.Lines()[0].verdict(); got != c.want {
				t.Errorf("verdict %q, want %q", got, c.want)
			}
		})
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
			if got := Median(c.values); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	got := map[string]string{
		"nothing": Number(math.NaN()), "zero": Number(0), "small": Number(0.934), "tens": Number(42.26), "large": Number(15818.3),
	}
	want := map[string]string{"nothing": "n/a", "zero": "0", "small": "0.93", "tens": "42.3", "large": "15818"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
