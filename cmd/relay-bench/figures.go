package main

import (
	"fmt"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
)

// Keys of the figures.
const (
	keyDrainRate  table.Key = "drain rate"
	keyDrainCPU   table.Key = "drain cpu"
	keyDrainPeak  table.Key = "drain peak"
	keyDrainStart table.Key = "drain start"

	keyOrderBreaks table.Key = "order breaks"
	keyDuplicates  table.Key = "duplicates"

	keyMemoryLarge table.Key = "memory large"

	keyRSSSmall        table.Key = "rss small"
	keyRSSMiddle       table.Key = "rss middle"
	keyRSSLarge        table.Key = "rss large"
	keyRSSLargeMedian  table.Key = "rss large median"
	keyRSSGrowth       table.Key = "rss growth"
	keyRSSGrowthMiddle table.Key = "rss growth from middle"

	keySteadyCPU table.Key = "steady cpu"

	keyAlone50        table.Key = "alone p50"
	keyAlone99        table.Key = "alone p99"
	keyFlood50        table.Key = "flood p50"
	keyFlood99        table.Key = "flood p99"
	keyFloodGrowth    table.Key = "flood growth"
	keyControlAlone99 table.Key = "control alone p99"
	keyControlFlood99 table.Key = "control flood p99"
	keyControlGrowth  table.Key = "control growth"
	keyFloodControl   table.Key = "flood to control"

	keyStart table.Key = "start"

	keyBilledDrain  = "billed drain"
	keyBilledSteady = "billed steady"
	keyBilledIdle   = "billed idle"
)

func keyLag(lane contracts.Lane, percent int) table.Key {
	return table.Key(fmt.Sprintf("lag %s p%d", lane, percent))
}

func keyMemory(backlog int) table.Key { return table.Key(fmt.Sprintf("memory %d", backlog)) }

// figures are the lines of the table, in order.
func figures(sc scale, catalog *contracts.Catalog) []table.Figure {
	lines := []table.Figure{
		table.NewFigure(keyDrainRate, fmt.Sprintf("drain %d: records/s", sc.drain), table.AtLeast(1, sideFloor), table.AtLeast(1, sidePolled)),
		table.NewFigure(keyDrainCPU, "drain: CPU-µs/record", table.AtMost(0.85, sidePolled)),
		table.NewFigure(keyDrainPeak, "drain: peak RSS MiB", table.AtMost(peakRSS, table.Alone)),
		table.NewFigure(keyDrainStart, "drain: start to first mark ms"),
		table.NewFigure(keyOrderBreaks, "drain, read: out of order", table.Never),
		table.NewFigure(keyDuplicates, "drain, read: twice", table.Never),
		table.NewFigure(keyRSSSmall, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssSmall)),
		table.NewFigure(keyRSSMiddle, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssMiddle)),
		table.NewFigure(keyRSSLarge, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssLarge)),
		table.NewFigure(keyRSSLargeMedian, fmt.Sprintf("backlog %d: median RSS MiB", sc.rssLarge)),
		table.NewFigure(keyRSSGrowth, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssSmall), table.AtMost(1.25, table.Alone)),
		table.NewFigure(keyRSSGrowthMiddle, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssMiddle), table.AtMost(1.25, table.Alone)),
	}
	for _, n := range sc.backlogs {
		lines = append(lines, table.NewFigure(keyMemory(n), fmt.Sprintf("drain %d of %d: peak RSS MiB", min(n, sc.deliver), n), table.AtMost(peakRSS, table.Alone)))
	}
	lines = append(lines, table.NewFigure(
		keyMemoryLarge, fmt.Sprintf("drain %d of %d KiB: peak RSS MiB", min(sc.large, sc.deliver), largePayload>>10), table.AtMost(peakRSS, table.Alone),
	))
	for _, lane := range contracts.Lanes() {
		sla := float64(catalog.Lanes[lane].SLA.Milliseconds())
		lines = append(lines,
			table.NewFigure(keyLag(lane, 50), fmt.Sprintf("%d/s: %s lag p50 ms", sc.steadyRate, lane)),
			table.NewFigure(keyLag(lane, 99), fmt.Sprintf("%d/s: %s lag p99 ms", sc.steadyRate, lane), table.AtMost(sla, table.Alone), table.AtMost(1.1, sideFloor)))
	}
	lines = append(lines,
		table.NewFigure(keySteadyCPU, fmt.Sprintf("%d/s: CPU-µs/record", sc.steadyRate)),
		table.NewFigure(keyAlone50, "CRITICAL alone: p50 ms"),
		table.NewFigure(keyAlone99, "CRITICAL alone: p99 ms"),
		table.NewFigure(keyFlood50, "CRITICAL flooded: p50 ms"),
		table.NewFigure(keyFlood99, "CRITICAL flooded: p99 ms"),
		table.NewFigure(keyFloodGrowth, "CRITICAL p99, flooded/alone", table.AtMost(1.25, table.Alone)),
		table.NewFigure(keyFloodControl, "CRITICAL p99, flooded/control", table.AtMost(1.2, table.Alone)),
		table.NewFigure(keyControlAlone99, "control alone: p99 ms"),
		table.NewFigure(keyControlFlood99, "control flooded: p99 ms"),
		table.NewFigure(keyControlGrowth, "control p99, flooded/alone"),
		table.NewFigure(keyStart, "start to first CRITICAL ms", soon))
	for _, phase := range []string{keyBilledDrain, keyBilledSteady} {
		lines = append(lines,
			table.NewFigure(table.Key(phase+" reads"), phase+": reads/record"),
			table.NewFigure(table.Key(phase+" writes"), phase+": writes/record", table.AtMost(oneWrite, table.Alone)),
			table.NewFigure(table.Key(phase+" deletes"), phase+": deletes/record"))
	}
	return append(lines,
		table.NewFigure(table.Key(keyBilledIdle+" reads"), keyBilledIdle+": reads/minute"),
		table.NewFigure(table.Key(keyBilledIdle+" writes"), keyBilledIdle+": writes/minute"),
		table.NewFigure(table.Key(keyBilledIdle+" deletes"), keyBilledIdle+": deletes/minute"))
}

// oneWrite leaves room for the canaries of a start, which are no record's cost
// and which the idle bill does not hold.
const oneWrite = 1.01

// peakRSS is what a drain may have resident at most, in MiB.
const peakRSS = 64

// soon is the aim of a start: ms beyond what its clients alone take.
var soon = table.MoreAtMost(300, sideFloor)
