package main

import (
	"fmt"

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

	keyBilledDrain  = "billed drain"
	keyBilledSteady = "billed steady"
	keyBilledIdle   = "billed idle"
)

func keyLag(lane contracts.Lane, percent int) key {
	return key(fmt.Sprintf("lag %s p%d", lane, percent))
}

// figure is one line of the table.
type figure struct {
	key  key
	name string
	aim  aim
}

// figures are the lines of the table, in order.
func figures(sc scale, catalog *contracts.Catalog) []figure {
	lines := []figure{
		{keyDrainRate, fmt.Sprintf("drain %d: records/s", sc.drain), ratioAtLeast(0.9)},
		{keyDrainCPU, "drain: CPU-µs/record", ratioAtMost(1.3)},
		{keyDrainPeak, "drain: peak RSS MiB", noAim},
		{keyDrainStart, "drain: start to first mark ms", noAim},
		{keyRSSSmall, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssSmall), noAim},
		{keyRSSMiddle, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssMiddle), noAim},
		{keyRSSLarge, fmt.Sprintf("backlog %d: peak RSS MiB", sc.rssLarge), noAim},
		{keyRSSLargeMedian, fmt.Sprintf("backlog %d: median RSS MiB", sc.rssLarge), noAim},
		{keyRSSGrowth, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssSmall), atMost(1.25)},
		{keyRSSGrowthMiddle, fmt.Sprintf("peak RSS, %d/%d", sc.rssLarge, sc.rssMiddle), atMost(1.25)},
	}
	for _, lane := range contracts.Lanes() {
		sla := float64(catalog.Lanes[lane].SLA.Milliseconds())
		lines = append(lines,
			figure{keyLag(lane, 50), fmt.Sprintf("%d/s: %s lag p50 ms", sc.steadyRate, lane), noAim},
			figure{keyLag(lane, 99), fmt.Sprintf("%d/s: %s lag p99 ms", sc.steadyRate, lane), atMost(sla)})
	}
	lines = append(lines,
		figure{keySteadyCPU, fmt.Sprintf("%d/s: CPU-µs/record", sc.steadyRate), noAim},
		figure{keyAlone50, "CRITICAL alone: p50 ms", noAim},
		figure{keyAlone99, "CRITICAL alone: p99 ms", noAim},
		figure{keyFlood50, "CRITICAL flooded: p50 ms", noAim},
		figure{keyFlood99, "CRITICAL flooded: p99 ms", noAim},
		figure{keyFloodGrowth, "CRITICAL p99, flooded/alone", atMost(1.25)},
		figure{keyControlAlone99, "control alone: p99 ms", noAim},
		figure{keyControlFlood99, "control flooded: p99 ms", noAim},
		figure{keyControlGrowth, "control p99, flooded/alone", noAim})
	for _, phase := range []string{keyBilledDrain, keyBilledSteady} {
		lines = append(lines,
			figure{key(phase + " reads"), phase + ": reads/record", noAim},
			figure{key(phase + " writes"), phase + ": writes/record", atMost(oneWrite)},
			figure{key(phase + " deletes"), phase + ": deletes/record", noAim})
	}
	return append(lines,
		figure{key(keyBilledIdle + " reads"), keyBilledIdle + ": reads/minute", noAim},
		figure{key(keyBilledIdle + " writes"), keyBilledIdle + ": writes/minute", noAim},
		figure{key(keyBilledIdle + " deletes"), keyBilledIdle + ": deletes/minute", noAim})
}

// oneWrite leaves room for the canaries of a start, which are no record's cost
// and which the idle bill does not hold.
const oneWrite = 1.01

// aim is what a figure is to reach.
type aim struct {
	bound   float64
	ofRatio bool // of relay to floor, and not of the relay alone
	atLeast bool // the bound is the least, and not the most
}

var noAim = aim{}

func ratioAtLeast(bound float64) aim { return aim{bound: bound, ofRatio: true, atLeast: true} }
func ratioAtMost(bound float64) aim  { return aim{bound: bound, ofRatio: true} }
func atMost(bound float64) aim       { return aim{bound: bound} }

// met judges the relay's figure and its ratio to the floor's.
func (a aim) met(relay, ratio float64) bool {
	value := relay
	if a.ofRatio {
		value = ratio
	}
	if a.atLeast {
		return value >= a.bound
	}
	return value <= a.bound
}

func (a aim) String() string {
	if a == noAim {
		return ""
	}
	sign, of := "<=", ""
	if a.atLeast {
		sign = ">="
	}
	if a.ofRatio {
		of = "ratio "
	}
	return fmt.Sprintf("%s%s %g", of, sign, a.bound)
}
