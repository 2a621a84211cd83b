package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/cmd/relay-bench/usage"
)

func TestDrained(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	line := usage.Timeline{
		{At: at(0), Usage: usage.Usage{Peak: 1 << 20}},
		{At: at(500), Usage: usage.Usage{CPU: 400 * time.Millisecond, Peak: 2 << 20}},
		{At: at(1500), Usage: usage.Usage{CPU: 1400 * time.Millisecond, Peak: 3 << 20}},
		{At: at(2500), Usage: usage.Usage{CPU: 1500 * time.Millisecond, Peak: 3 << 20}}, // behind the last mark
	}
	got := drained([]time.Time{at(500), at(500), at(1500)}, line, began)
	want := table.Readings{keyDrainRate: 2, keyDrainCPU: 1_400_000.0 / 3, keyDrainPeak: 3, keyDrainStart: 500}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Error(diff)
	}
}
