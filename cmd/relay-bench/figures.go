package main

import (
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// key names a figure among the readings.
type key string

// Keys of the figures.
const (
	keyDrainRate  key = "drain rate"
	keyDrainCPU   key = "drain cpu"
	keyDrainPeak  key = "drain peak"
	keyDrainStart key = "drain start"

	keyOrderBreaks key = "order breaks"
	keyDuplicates  key = "duplicates"

	keyMemoryLarge key = "memory large"

	keyRSSSmall        key = "rss small"
	keyRSSMiddle       key = "rss middle"
	keyRSSLarge        key = "rss large"
	keyRSSLargeMedian  key = "rss large median"
	keyRSSGrowth       key = "rss growth"
	keyRSSGrowthMiddle key = "rss growth from middle"

	keySteadyCPU key = "steady cpu"

	keyAlone50        key = "alone p50"
	keyAlone99        key = "alone p99"
	keyFlood50        key = "flood p50"
	keyFlood99        key = "flood p99"
	keyFloodGrowth    key = "flood growth"
	keyControlAlone99 key = "control alone p99"
	keyControlFlood99 key = "control flood p99"
	keyControlGrowth  key = "control growth"
	keyFloodControl   key = "flood to control"

	keyStart key = "start"

	keyBilledDrain  = "billed drain"
	keyBilledSteady = "billed steady"
	keyBilledIdle   = "billed idle"
)

func keyLag(lane contracts.Lane, percent int) key {
	return key(fmt.Sprintf("lag %s p%d", lane, percent))
}

func keyMemory(backlog int) key { return key(fmt.Sprintf("memory %d", backlog)) }

// figure is one line of the table.
type figure struct {
	key  key
	name string
	aims []aim // all of them are to be met
}

// figures are the lines of the table, in order.
func figures(sc scale, catalog *contracts.Catalog) []figure {
	lines := []figure{
		{keyDrainRate, fmt.Sprintf("drain %d: records/s", sc.drain), aims(atLeast(1, ofFloor), atLeast(1, ofPolled))},
		{keyDrainCPU, "drain: CPU-µs/record", aims(atMost(0.85, ofPolled))},
		{keyDrainPeak, "drain: peak RSS MiB", aims(atMost(peakRSS, alone))},
		{keyDrainStart, "drain: start to first mark ms", nil},
		{keyOrderBreaks, "drain, read: out of order", aims(never)},
		{keyDuplicates, "drain, read: twice", aims(never)},
		{keyRSSSmall, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssSmall), nil},
		{keyRSSMiddle, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssMiddle), nil},
		{keyRSSLarge, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssLarge), nil},
		{keyRSSLargeMedian, fmt.Sprintf("backlog %d: median RSS MiB", sc.rssLarge), nil},
		{keyRSSGrowth, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssSmall), aims(atMost(1.25, alone))},
		{keyRSSGrowthMiddle, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssMiddle), aims(atMost(1.25, alone))},
	}
	for _, n := range sc.backlogs {
		lines = append(lines, figure{keyMemory(n), fmt.Sprintf("drain %d of %d: peak RSS MiB", min(n, sc.deliver), n), aims(atMost(peakRSS, alone))})
	}
	lines = append(lines, figure{
		keyMemoryLarge, fmt.Sprintf("drain %d of %d KiB: peak RSS MiB", min(sc.large, sc.deliver), largePayload>>10), aims(atMost(peakRSS, alone)),
	})
	for _, lane := range contracts.Lanes() {
		sla := float64(catalog.Lanes[lane].SLA.Milliseconds())
		lines = append(lines,
			figure{keyLag(lane, 50), fmt.Sprintf("%d/s: %s lag p50 ms", sc.steadyRate, lane), nil},
			figure{keyLag(lane, 99), fmt.Sprintf("%d/s: %s lag p99 ms", sc.steadyRate, lane), aims(atMost(sla, alone), atMost(1.1, ofFloor))})
	}
	lines = append(lines,
		figure{keySteadyCPU, fmt.Sprintf("%d/s: CPU-µs/record", sc.steadyRate), nil},
		figure{keyAlone50, "CRITICAL alone: p50 ms", nil},
		figure{keyAlone99, "CRITICAL alone: p99 ms", nil},
		figure{keyFlood50, "CRITICAL flooded: p50 ms", nil},
		figure{keyFlood99, "CRITICAL flooded: p99 ms", nil},
		figure{keyFloodGrowth, "CRITICAL p99, flooded/alone", aims(atMost(1.25, alone))},
		figure{keyFloodControl, "CRITICAL p99, flooded/control", aims(atMost(1.2, alone))},
		figure{keyControlAlone99, "control alone: p99 ms", nil},
		figure{keyControlFlood99, "control flooded: p99 ms", nil},
		figure{keyControlGrowth, "control p99, flooded/alone", nil},
		figure{keyStart, "start to first CRITICAL ms", aims(soon)})
	for _, phase := range []string{keyBilledDrain, keyBilledSteady} {
		lines = append(lines,
			figure{key(phase + " reads"), phase + ": reads/record", nil},
			figure{key(phase + " writes"), phase + ": writes/record", aims(atMost(oneWrite, alone))},
			figure{key(phase + " deletes"), phase + ": deletes/record", nil})
	}
	return append(lines,
		figure{key(keyBilledIdle + " reads"), keyBilledIdle + ": reads/minute", nil},
		figure{key(keyBilledIdle + " writes"), keyBilledIdle + ": writes/minute", nil},
		figure{key(keyBilledIdle + " deletes"), keyBilledIdle + ": deletes/minute", nil})
}

// oneWrite leaves room for the canaries of a start, which are no record's cost
// and which the idle bill does not hold.
const oneWrite = 1.01

// peakRSS is what a drain may have resident at most, in MiB.
const peakRSS = 64

// aim is what a figure is to reach.
type aim struct {
	bound   float64
	of      against
	atLeast bool // the bound is the least, and not the most
	each    bool // every run is to reach it, and not the median
	more    bool // the bound is of the difference to a side, and not of the ratio
}

// never is the aim of what must not happen, in no run.
var never = aim{each: true}

// soon is the aim of a start: ms beyond what its clients alone take.
var soon = aim{bound: 300, of: ofFloor, more: true}

// against is what a bound is stated of: the relay's figure alone (""), or its
// ratio to that of a floor, or the difference.
type against side

const (
	alone    against = ""
	ofFloor          = against(sideFloor)
	ofPolled         = against(sidePolled)
)

func atLeast(bound float64, of against) aim { return aim{bound: bound, of: of, atLeast: true} }
func atMost(bound float64, of against) aim  { return aim{bound: bound, of: of} }
func aims(of ...aim) []aim                  { return of }

// met judges the runs of the relay, or what they are of a floor's. There is at least one.
func (a aim) met(runs []float64) bool {
	value := median(runs)
	if a.each {
		value = slices.Max(runs)
	}
	if a.atLeast {
		return value >= a.bound
	}
	return value <= a.bound
}

func (a aim) String() string {
	if a.more {
		return fmt.Sprintf("<= %s + %g", string(a.of), a.bound)
	}
	sign, of := "<=", ""
	if a.atLeast {
		sign = ">="
	}
	if a.of != alone {
		of = " of " + string(a.of)
	}
	return fmt.Sprintf("%s %g%s", sign, a.bound, of)
}
