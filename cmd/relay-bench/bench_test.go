package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/rig"
	"outboxrelay/deploy/local/thorough"
)

// tiny shows that a measurement works in a second or two.
var tiny = scale{
	trial: 60, warmup: 30, drain: 120,
	rssSmall: 12, rssMiddle: 30, rssLarge: 60, rssFor: time.Second,
	backlogs: []int{20, 60}, deliver: 30, large: 5,
	steadyRate: 60, steadyFor: time.Second,
	floodBacklog: 60, floodRate: 100, criticalRate: 40, floodFor: 1500 * time.Millisecond,
	starts:  1,
	billing: 60, idleFor: 500 * time.Millisecond,
	soakStep: time.Second, soakFor: minSoak,
}

// setupBench builds the relay and makes this test binary the floor.
func setupBench(t *testing.T) *bench {
	t.Helper()
	t.Setenv(childMode, "bench") // of the floor; the relay does not know it
	path, err := rig.BuildRelay(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.Context(), options{cloud: rig.CloudEmbedded, rounds: 1, window: 200, page: 50, relay: path, scale: tiny}, testWriter{t})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// testWriter logs to the test.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func TestEveryFigureIsMeasured(t *testing.T) {
	thorough.Long(t) // it builds and runs the relay
	b := setupBench(t)
	b.opts.only = slices.DeleteFunc(measureNames(), func(name string) bool { return name == soakName })
	b.opts.before = b.relayPath
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want, got []table.Key
	for _, f := range figures(b.opts.scale, b.catalog) {
		want = append(want, f.Key)
	}
	ran := map[table.Key][]table.Side{}
	for _, l := range b.results.Lines() {
		if len(l.Runs[sideRelay]) == 1 {
			got = append(got, l.Key)
		}
		ran[l.Key] = slices.Sorted(maps.Keys(l.Runs))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures with a value of the relay (-want +got):\n%s", diff)
	}
	all, pair := []table.Side{sideBefore, sideFloor, sidePolled, sideRelay}, []table.Side{sideFloor, sideRelay}
	for k, want := range map[table.Key][]table.Side{
		keyDrainRate: all, keyOrderBreaks: all, keyRSSSmall: pair, keyMemoryLarge: {sideBefore, sideRelay},
		keyFlood99: {sideBefore, sideFloor, sideRelay}, keyStart: {sideBefore, sideFloor, sideRelay}, table.Key(keyBilledIdle + " reads"): pair,
	} {
		if diff := cmp.Diff(want, ran[k]); diff != "" {
			t.Errorf("sides of %s (-want +got):\n%s", k, diff)
		}
	}
	for _, l := range b.results.Lines() {
		if l.Key == keyOrderBreaks || l.Key == keyDuplicates {
			if n := l.Runs[sideRelay][0]; n != 0 {
				t.Errorf("%s of the relay = %v, want 0", l.Key, n)
			}
		}
	}
	if left := b.results.Keys(); len(left) != len(want) {
		t.Errorf("%d readings have a line in the table, of %d", len(want), len(left))
	}
	if err := b.results.Print(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestRelayThatCannotStartIsTold(t *testing.T) {
	thorough.Long(t) // it builds and runs the relay
	b := setupBench(t)
	b.opts.only = []string{"drain"}
	b.catalogPath = filepath.Join(b.dir, "empty.yaml")
	if err := os.WriteFile(b.catalogPath, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.drainOnce(t.Context(), sideRelay, 10)
	if err == nil || !strings.Contains(err.Error(), "load catalog") {
		t.Errorf("error = %v, want what the relay said", err)
	}
}

// Each side is the first of a round in turn, and the last.
func TestEachSideBeginsARound(t *testing.T) {
	sides := []table.Side{sideFloor, sidePolled, sideRelay}
	var got [][]table.Side
	for round := range 4 {
		got = append(got, inTurn(sides, round))
	}
	want := [][]table.Side{
		{sideFloor, sidePolled, sideRelay}, {sidePolled, sideRelay, sideFloor}, {sideRelay, sideFloor, sidePolled}, {sideFloor, sidePolled, sideRelay},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rounds (-want +got):\n%s", diff)
	}
	if got := inTurn(nil, 1); len(got) > 0 {
		t.Errorf("of no sides: %v", got)
	}
}
