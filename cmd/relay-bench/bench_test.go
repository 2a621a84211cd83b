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

	"outboxrelay/deploy/local/rig"
	"outboxrelay/deploy/local/thorough"
)

// tiny shows that a measurement works in a second or two.
var tiny = scale{
	trial: 60, warmup: 30, drain: 120,
	rssSmall: 12, rssMiddle: 30, rssLarge: 60, rssFor: time.Second,
	steadyRate: 60, steadyFor: time.Second,
	floodBacklog: 60, floodRate: 100, criticalRate: 40, floodFor: 1500 * time.Millisecond,
	billing: 60, idleFor: 500 * time.Millisecond,
	soakStep: time.Second, soakFor: minSoak,
}

// setupBench builds the relay and makes this test binary the floor.
func setupBench(t *testing.T) *bench {
	t.Helper()
	thorough.Long(t)             // it builds and runs the relay
	t.Setenv(childMode, "bench") // of the floor; the relay does not know it
	path, err := rig.BuildRelay(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.Context(), options{cloud: rig.CloudEmbedded, rounds: 1, window: 200, relay: path, scale: tiny}, testWriter{t})
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

func TestEveryFigureIsMeasuredForBothSides(t *testing.T) {
	b := setupBench(t)
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want, got []key
	for _, f := range b.results.figures {
		want = append(want, f.key)
	}
	for _, l := range b.results.lines() {
		if len(l.floor) == 1 && len(l.relay) == 1 {
			got = append(got, l.key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures with a value of each side (-want +got):\n%s", diff)
	}
	if left := slices.Collect(maps.Keys(b.results.values)); len(left) != len(want) {
		t.Errorf("%d readings have a line in the table, of %d", len(want), len(left))
	}
	if err := b.results.print(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestRelayThatCannotStartIsTold(t *testing.T) {
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
