// Package table holds the readings of a bench and prints them: a line for each figure, with the
// medians of the sides that were measured in turn, the ratios of one of them to the others, and whether
// these reach their aims.
package table

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Side is one of those that are compared.
type Side string

// Key names a figure among the readings.
type Key string

// Readings are what one measurement of one side found.
type Readings map[Key]float64

func (r Readings) String() string {
	parts := make([]string, 0, len(r))
	for _, k := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s %s", k, Number(r[k])))
	}
	return strings.Join(parts, ", ")
}

// Figure is one line of the table.
type Figure struct {
	Key  Key
	Name string
	Aims []Aim // all of them are to be met
}

// NewFigure is a line and what is aimed at.
func NewFigure(key Key, name string, aims ...Aim) Figure { return Figure{key, name, aims} }

// Results are all readings, by figure, side and round.
type Results struct {
	figures []Figure
	judged  Side
	sides   []Side // the judged one is among them
	values  map[Key]map[Side]map[int]float64
}

// New is a table of figures. The aims are the judged side's. sides are all of them, in the order of
// their columns.
func New(figures []Figure, judged Side, sides ...Side) *Results {
	return &Results{figures: figures, judged: judged, sides: sides, values: map[Key]map[Side]map[int]float64{}}
}

// Add notes what a side's measurement found in a round, the first of which is 0.
func (r *Results) Add(who Side, round int, read Readings) {
	for k, v := range read {
		if r.values[k] == nil {
			r.values[k] = map[Side]map[int]float64{}
		}
		if r.values[k][who] == nil {
			r.values[k][who] = map[int]float64{}
		}
		r.values[k][who][round] = v
	}
}

// Keys are those of all readings, of which some may have no line, in their order.
func (r *Results) Keys() []Key { return slices.Sorted(maps.Keys(r.values)) }

// Line is a figure with its values.
type Line struct {
	Figure
	Runs   map[Side][]float64 // by round
	ratios map[Side][]float64 // of the judged side to the side, by round; where both have a value
	more   map[Side][]float64 // by which the judged side's value is more than the side's, likewise
	judged Side
}

// Lines are the figures that any side has a value of.
func (r *Results) Lines() []Line {
	var out []Line
	for _, f := range r.figures {
		values := r.values[f.Key]
		l := Line{Figure: f, Runs: map[Side][]float64{}, ratios: map[Side][]float64{}, more: map[Side][]float64{}, judged: r.judged}
		for round := range rounds(values) {
			judged, has := values[r.judged][round]
			for who, of := range values {
				value, ok := of[round]
				if !ok {
					continue
				}
				l.Runs[who] = append(l.Runs[who], value)
				if has && who != r.judged && value > 0 {
					l.ratios[who] = append(l.ratios[who], judged/value)
					l.more[who] = append(l.more[who], judged-value)
				}
			}
		}
		if len(l.Runs) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// rounds is one more than the last round that any side has a value of.
func rounds(values map[Side]map[int]float64) int {
	n := 0
	for _, of := range values {
		for round := range of {
			n = max(n, round+1)
		}
	}
	return n
}

// verdict is ok, over, or empty where nothing is aimed at or was measured.
func (l Line) verdict() string {
	said := ""
	for _, a := range l.Aims {
		values := l.Runs[l.judged]
		switch {
		case a.more:
			values = l.more[a.of]
		case a.of != Alone:
			values = l.ratios[a.of]
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
func (l Line) aim() string {
	said := make([]string, len(l.Aims))
	for i, a := range l.Aims {
		said[i] = a.String()
	}
	return strings.Join(said, ", ")
}

// Missed is how many aims were.
func (r *Results) Missed() int {
	n := 0
	for _, l := range r.Lines() {
		if l.verdict() == "over" {
			n++
		}
	}
	return n
}

// Print writes the table: medians, the medians of the ratios of each pair of
// runs, and behind them every run.
func (r *Results) Print(w io.Writer) error {
	lines := r.Lines()
	sides := r.measured(lines)
	head := []string{"figure"}
	for _, who := range sides {
		head = append(head, string(who))
	}
	for _, who := range sides {
		if who != r.judged {
			head = append(head, string(r.judged)+"/"+string(who))
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

func (l Line) cells(sides []Side) []string {
	cells := []string{l.Name}
	for _, who := range sides {
		cells = append(cells, Number(Median(l.Runs[who])))
	}
	for _, who := range sides {
		if who != l.judged {
			cells = append(cells, Number(Median(l.ratios[who])))
		}
	}
	cells = append(cells, l.aim(), l.verdict())
	for _, who := range sides {
		cells = append(cells, numbers(l.Runs[who]))
	}
	return cells
}

// measured are the sides that any line has a value of.
func (r *Results) measured(lines []Line) []Side {
	return slices.DeleteFunc(slices.Clone(r.sides), func(who Side) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool { return len(l.Runs[who]) > 0 })
	})
}
