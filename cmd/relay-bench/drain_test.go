package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDrained(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	line := timeline{
		{at(0), usage{peak: 1 << 20}},
		{at(500), usage{cpu: 400 * time.Millisecond, peak: 2 << 20}},
		{at(1500), usage{cpu: 1400 * time.Millisecond, peak: 3 << 20}},
		{at(2500), usage{cpu: 1500 * time.Millisecond, peak: 3 << 20}}, // behind the last mark
	}
	got := drained([]time.Time{at(500), at(500), at(1500)}, line, began)
	want := readings{keyDrainRate: 2, keyDrainCPU: 1_400_000.0 / 3, keyDrainPeak: 3, keyDrainStart: 500}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Error(diff)
	}
}
