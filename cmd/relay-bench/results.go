package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// results are all readings, by figure, side and round.
type results struct {
	figures []figure
	values  map[key]map[side]map[int]float64
}

func newResults(figures []figure) *results {
	return &results{figures: figures, values: map[key]map[side]map[int]float64{}}
}

func (r *results) add(who side, round int, read readings) {
	for k, v := range read {
		if r.values[k] == nil {
			r.values[k] = map[side]map[int]float64{sideFloor: {}, sideRelay: {}}
		}
		r.values[k][who][round] = v
	}
}

// line is a figure with its values.
type line struct {
	figure
	floor, relay, ratios []float64 // by round; ratios where both sides have one
}

func (r *results) lines() []line {
	var out []line
	for _, f := range r.figures {
		l := line{figure: f}
		values := r.values[f.key]
		for round := range rounds(values) {
			floor, hasFloor := values[sideFloor][round]
			relay, hasRelay := values[sideRelay][round]
			if hasFloor {
				l.floor = append(l.floor, floor)
			}
			if hasRelay {
				l.relay = append(l.relay, relay)
			}
			if hasFloor && hasRelay && floor > 0 {
				l.ratios = append(l.ratios, relay/floor)
			}
		}
		out = append(out, l)
	}
	return out
}

// rounds is one more than the last round that any side has a value of.
func rounds(values map[side]map[int]float64) int {
	n := 0
	for _, of := range values {
		for round := range of {
			n = max(n, round+1)
		}
	}
	return n
}

// verdict is ok, over, or empty where nothing is aimed at or was measured.
func (l line) verdict() string {
	switch {
	case l.aim == noAim, len(l.relay) == 0, l.aim.ofRatio && len(l.ratios) == 0:
		return ""
	case l.aim.met(median(l.relay), median(l.ratios)):
		return "ok"
	}
	return "over"
}

// missed is how many aims were.
func (r *results) missed() int {
	n := 0
	for _, l := range r.lines() {
		if l.verdict() == "over" {
			n++
		}
	}
	return n
}

// print writes the table: medians, the median of the ratios of each pair of
// runs, and behind them every run.
func (r *results) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tfloor\trelay\tratio\taim\t\tfloor's runs\trelay's runs")
	for _, l := range r.lines() {
		fmt.Fprintln(t, strings.Join([]string{
			l.name, number(median(l.floor)), number(median(l.relay)), number(median(l.ratios)),
			l.aim.String(), l.verdict(), numbers(l.floor), numbers(l.relay),
		}, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}

// median is NaN where there is nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// number writes a value with about three digits that mean something.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case v == 0:
		return "0"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.2f", v)
	case math.Abs(v) < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func numbers(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = number(v)
	}
	return strings.Join(parts, " ")
}

// machine tells what the figures were measured on. loadBefore is what others
// asked of it: latencies mean little where that is more than its cores.
func machine(cloud, loadBefore string) string {
	return fmt.Sprintf("%s cloud; %d cores, shared by cloud, side and bench; load average before: %s; %s, %s/%s",
		cloud, runtime.NumCPU(), loadBefore, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
