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
			r.values[k] = map[side]map[int]float64{}
		}
		if r.values[k][who] == nil {
			r.values[k][who] = map[int]float64{}
		}
		r.values[k][who][round] = v
	}
}

// line is a figure with its values.
type line struct {
	figure
	runs   map[side][]float64 // by round
	ratios map[side][]float64 // of the relay to the side, by round; where both have a value
	more   map[side][]float64 // by which the relay's value is more than the side's, likewise
}

// lines are the figures that any side has a value of.
func (r *results) lines() []line {
	var out []line
	for _, f := range r.figures {
		values := r.values[f.key]
		l := line{figure: f, runs: map[side][]float64{}, ratios: map[side][]float64{}, more: map[side][]float64{}}
		for round := range rounds(values) {
			relay, hasRelay := values[sideRelay][round]
			for who, of := range values {
				value, ok := of[round]
				if !ok {
					continue
				}
				l.runs[who] = append(l.runs[who], value)
				if hasRelay && who != sideRelay && value > 0 {
					l.ratios[who] = append(l.ratios[who], relay/value)
					l.more[who] = append(l.more[who], relay-value)
				}
			}
		}
		if len(l.runs) > 0 {
			out = append(out, l)
		}
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
	said := ""
	for _, a := range l.aims {
		values := l.runs[sideRelay]
		switch {
		case a.more:
			values = l.more[side(a.of)]
		case a.of != alone:
			values = l.ratios[side(a.of)]
		}
		switch {
		case len(values) == 0:
		case !a.met(values):
			return "over"
		default:
			said = "ok"
		}
	}
	return said
}

// aim is what the verdict is about.
func (l line) aim() string {
	said := make([]string, len(l.aims))
	for i, a := range l.aims {
		said[i] = a.String()
	}
	return strings.Join(said, ", ")
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

// print writes the table: medians, the medians of the ratios of each pair of
// runs, and behind them every run.
func (r *results) print(w io.Writer) error {
	lines := r.lines()
	sides := sidesOf(lines)
	head := []string{"figure"}
	for _, who := range sides {
		head = append(head, string(who))
	}
	for _, who := range sides {
		if who != sideRelay {
			head = append(head, "relay/"+string(who))
		}
	}
	head = append(head, "aim", "")
	for _, who := range sides {
		head = append(head, string(who)+"'s runs")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, l := range lines {
		fmt.Fprintln(t, strings.Join(l.cells(sides), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}

func (l line) cells(sides []side) []string {
	cells := []string{l.name}
	for _, who := range sides {
		cells = append(cells, number(median(l.runs[who])))
	}
	for _, who := range sides {
		if who != sideRelay {
			cells = append(cells, number(median(l.ratios[who])))
		}
	}
	cells = append(cells, l.aim(), l.verdict())
	for _, who := range sides {
		cells = append(cells, numbers(l.runs[who]))
	}
	return cells
}

// sidesOf are those that any line has a value of.
func sidesOf(lines []line) []side {
	var out []side
	for _, who := range []side{sideFloor, sidePolled, sideBefore, sideRelay} {
		if slices.ContainsFunc(lines, func(l line) bool { return len(l.runs[who]) > 0 }) {
			out = append(out, who)
		}
	}
	return out
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
