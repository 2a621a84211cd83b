package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
)

// soakRow is a minute of a soak: medians of what was sampled in it.
type soakRow struct {
	from, to   time.Duration // since the first sample
	rate       float64       // records appended a second
	lags       map[contracts.Lane]lagPair
	goroutines float64
	rss, heap  float64 // MiB
	fds        float64
	cpu        float64 // percent of one core
}

// lagPair is in milliseconds.
type lagPair struct{ p50, p99 float64 }

func (p lagPair) String() string { return table.Number(p.p50) + "/" + table.Number(p.p99) }

func lagPairOf(deliveries []delivery, lane contracts.Lane) lagPair {
	of := lagsOf(deliveries, lane)
	if of.count() == 0 {
		return lagPair{math.NaN(), math.NaN()}
	}
	return lagPair{of.quantile(50), of.quantile(99)}
}

// soakRows are at least what a soak has: a short one has no minutes.
const soakRows = 3

// rows are the minutes of the soak.
func (r *soakReport) rows() []soakRow {
	span := min(time.Minute, r.lasted/soakRows)
	n := int(r.lasted / span)
	from := r.samples[0].at
	deliveries := sliced(r.deliveries, from, span, n)
	rows := make([]soakRow, n)
	for i := range rows {
		begin := time.Duration(i) * span
		of := r.between(from.Add(begin), from.Add(begin+span))
		row := soakRow{from: begin, to: begin + span, rate: float64(len(deliveries[i])) / span.Seconds(), lags: map[contracts.Lane]lagPair{}}
		for _, lane := range contracts.Lanes() {
			row.lags[lane] = lagPairOf(deliveries[i], lane)
		}
		row.goroutines = medianOf(of, func(s soakSample) float64 { return s.goroutines })
		row.rss = medianOf(of, func(s soakSample) float64 { return s.rss }) / (1 << 20)
		row.heap = medianOf(of, func(s soakSample) float64 { return s.heap }) / (1 << 20)
		row.fds = medianOf(of, func(s soakSample) float64 { return s.fds })
		row.cpu = cpuPercent(of)
		rows[i] = row
	}
	return rows
}

// between are the samples from one time to another, with some leeway: each was
// taken a moment after its time.
func (r *soakReport) between(from, to time.Time) []soakSample {
	const leeway = time.Second
	var out []soakSample
	for _, s := range r.samples {
		if !s.at.Before(from) && s.at.Before(to.Add(leeway)) {
			out = append(out, s)
		}
	}
	return out
}

func medianOf(samples []soakSample, value func(soakSample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = value(s)
	}
	return table.Median(values)
}

// cpuPercent is what was used of one core from the first sample to the last.
func cpuPercent(samples []soakSample) float64 {
	if len(samples) < 2 {
		return math.NaN()
	}
	first, last := samples[0], samples[len(samples)-1]
	return 100 * (last.cpu - first.cpu) / last.at.Sub(first.at).Seconds()
}

func printSoakRows(w io.Writer, rows []soakRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"from", "to", "records/s"}
	for _, lane := range contracts.Lanes() {
		head = append(head, string(lane)+" p50/p99 ms")
	}
	fmt.Fprintln(t, strings.Join(append(head, "goroutines", "RSS MiB", "heap MiB", "fds", "CPU %"), "\t"))
	for _, row := range rows {
		cells := []string{row.from.Round(time.Second).String(), row.to.Round(time.Second).String(), table.Number(row.rate)}
		for _, lane := range contracts.Lanes() {
			cells = append(cells, row.lags[lane].String())
		}
		cells = append(cells, table.Number(row.goroutines), table.Number(row.rss), table.Number(row.heap), table.Number(row.fds), table.Number(row.cpu))
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print soak: %w", err)
	}
	return nil
}

// trend compares the medians of a soak's first and last third.
type trend struct {
	name        string
	first, last float64
	bound       float64 // the most that last may be
}

const (
	flatRatio = 1.1 // last to first, of what has a size or a duration
	flatCount = 5   // more than at first, of what is counted
)

func trendOf(name string, values []float64, bound func(first float64) float64) trend {
	third := len(values) / 3
	first, last := table.Median(values[:third]), table.Median(values[len(values)-third:])
	return trend{name, first, last, bound(first)}
}

func byRatio(first float64) float64 { return flatRatio * first }
func byCount(first float64) float64 { return first + flatCount }

// ok is false too where there is nothing to compare.
func (t trend) ok() bool { return t.last <= t.bound }

func (t trend) verdict() string {
	if t.ok() {
		return "flat"
	}
	return "grows"
}

// trends are what is judged: the relay's process, and each lane's lag by the
// quantiles of the records appended between two samples.
func (r *soakReport) trends() []trend {
	var goroutines, rss, fds []float64
	for _, s := range r.samples {
		goroutines, rss, fds = append(goroutines, s.goroutines), append(rss, s.rss/(1<<20)), append(fds, s.fds)
	}
	out := []trend{
		trendOf("goroutines", goroutines, byRatio),
		trendOf("RSS MiB", rss, byRatio),
		trendOf("fds", fds, byCount),
	}
	every := r.lasted / time.Duration(max(1, len(r.samples)-1))
	slices := sliced(r.deliveries, r.samples[0].at, every, len(r.samples)-1)
	for _, lane := range contracts.Lanes() {
		var p50, p99 []float64
		for _, of := range slices {
			if pair := lagPairOf(of, lane); !math.IsNaN(pair.p50) {
				p50, p99 = append(p50, pair.p50), append(p99, pair.p99)
			}
		}
		out = append(out,
			trendOf(string(lane)+" lag p50 ms", p50, byRatio),
			trendOf(string(lane)+" lag p99 ms", p99, byRatio))
	}
	return out
}

func printTrends(w io.Writer, trends []trend) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tfirst third\tlast third\tratio\tat most\t")
	for _, of := range trends {
		fmt.Fprintln(t, strings.Join([]string{
			of.name, table.Number(of.first), table.Number(of.last), table.Number(of.last / of.first), table.Number(of.bound), of.verdict(),
		}, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print soak: %w", err)
	}
	return nil
}
