package postgres

import (
	"fmt"
	"time"

	"outboxrelay/cmd/relay-bench/table"
)

// Scale is how much is measured.
type Scale struct {
	Drain      int           // rows of a drain
	Publishers []int         // processes of a side in a drain
	Lead       int           // rows of one aggregate in front of as many of others
	Rate       int           // rows a second of the latencies
	For        time.Duration // how long these are measured
}

// Full is what the aims are stated for, and Smoke shows that everything runs.
var (
	Full  = Scale{Drain: 20_000, Publishers: []int{1, 2, 4}, Lead: 10_000, Rate: 200, For: 30 * time.Second}
	Smoke = Scale{Drain: 1_000, Publishers: []int{1, 2}, Lead: 500, Rate: 100, For: 2 * time.Second}
)

// Keys of the figures.
const (
	keyLeadRate   table.Key = "lead rate"
	keyLeadOthers table.Key = "lead others"
	keyLeadBreaks table.Key = "lead breaks"
	keyLeadTwice  table.Key = "lead twice"

	keyLatency50  table.Key = "latency p50"
	keyLatency99  table.Key = "latency p99"
	keyLatencyCPU table.Key = "latency cpu"
)

// drainKeys are those of a drain by so many processes.
type drainKeys struct{ rate, cpu, breaks, twice table.Key }

func keysOfDrain(processes int) drainKeys {
	of := func(what string) table.Key { return table.Key(fmt.Sprintf("drain by %d %s", processes, what)) }
	return drainKeys{rate: of("rate"), cpu: of("cpu"), breaks: of("breaks"), twice: of("twice")}
}

// figures are the lines of the table, in order.
func figures(sc Scale) []table.Figure {
	fast := []table.Aim{table.AtLeast(0.9, sideFloor), table.AtLeast(2, sideWatermill)}
	var lines []table.Figure
	for _, n := range sc.Publishers {
		k, name := keysOfDrain(n), fmt.Sprintf("drain %d by %d: ", sc.Drain, n)
		lines = append(lines,
			table.NewFigure(k.rate, name+"records/s", fast...),
			table.NewFigure(k.cpu, name+"CPU-µs/record"),
			table.NewFigure(k.breaks, name+"out of order", table.Never),
			table.NewFigure(k.twice, name+"twice", table.Never))
	}
	lead, steady := fmt.Sprintf("%d of one aggregate first: ", sc.Lead), fmt.Sprintf("%d/s: ", sc.Rate)
	return append(lines,
		table.NewFigure(keyLeadRate, lead+"records/s", fast...),
		table.NewFigure(keyLeadOthers, lead+"first of the others ms"),
		table.NewFigure(keyLeadBreaks, lead+"out of order", table.Never),
		table.NewFigure(keyLeadTwice, lead+"twice", table.Never),
		table.NewFigure(keyLatency50, steady+"commit to publish p50 ms"),
		table.NewFigure(keyLatency99, steady+"commit to publish p99 ms"),
		table.NewFigure(keyLatencyCPU, steady+"CPU-µs/record"))
}
