package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestBookLags(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		fill        func(*book)
		want        float64 // lag of the only CRITICAL record in ms; 0: none is complete
		outstanding int
	}{
		"one target": {func(b *book) {
			b.appended("a", appended{at(0), contracts.CriticalLane, 1})
			b.arrived("a", "t1", at(7))
		}, 7, 0},
		"counted to the last target": {func(b *book) {
			b.appended("a", appended{at(0), contracts.CriticalLane, 2})
			b.arrived("a", "t1", at(9))
			b.arrived("a", "t2", at(4))
		}, 9, 0},
		"a repeat keeps its first time": {func(b *book) {
			b.appended("a", appended{at(0), contracts.CriticalLane, 1})
			b.arrived("a", "t1", at(50))
			b.arrived("a", "t1", at(5))
		}, 5, 0},
		"a repeat is no second target": {func(b *book) {
			b.appended("a", appended{at(0), contracts.CriticalLane, 2})
			b.arrived("a", "t1", at(5))
			b.arrived("a", "t1", at(6))
		}, 0, 1},
		"message before its record is booked": {func(b *book) {
			b.arrived("a", "t1", at(3))
			b.appended("a", appended{at(0), contracts.CriticalLane, 1})
		}, 3, 0},
		"another lane": {func(b *book) {
			b.appended("a", appended{at(0), contracts.StandardLane, 1})
			b.arrived("a", "t1", at(3))
		}, 0, 0},
		"a message of nobody's": {func(b *book) { b.arrived("warmup", "t1", at(3)) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook()
			c.fill(b)
			lags := b.lags(contracts.CriticalLane)
			got := 0.0
			if lags.count() > 0 {
				got = math.Floor(lags.quantile(100)) // the histogram names the top of a bucket
			}
			if got != c.want || b.outstanding() != c.outstanding {
				t.Errorf("lag %v, outstanding %d; want %v, %d", got, b.outstanding(), c.want, c.outstanding)
			}
		})
	}
}

func TestLagsQuantiles(t *testing.T) {
	l := newLags()
	for i := range 100 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	l.add(-time.Second) // clocks that differ by a little
	got := []float64{l.quantile(0), l.quantile(50), l.quantile(99)}
	// Three significant digits: the histogram names the top of a bucket.
	if diff := cmp.Diff([]float64{0.001, 50.015, 99.007}, got); diff != "" {
		t.Error(diff)
	}
}
