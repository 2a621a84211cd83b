//go:debug randseednop=0

package simulation

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/deploy/local/thorough"
)

// fewSeeds are those of a run of everything, one of each theme: one goroutine runs at a
// time, so that the race detector has nothing to find in more.
var fewSeeds = []uint64{1, 18, 20, 27, 224, 2246}

// fixedSeeds are those that the short form runs: some of each theme, and some that
// found something.
var fixedSeeds = []uint64{1, 2, 5, 8, 9, 11, 15, 18, 19, 20, 24, 25, 27, 30, 37, 42, 46, 57, 60, 70, 90, 224, 600, 854, 2214, 2246, 4591, 5311, 5494, 7590, 12513, 41113, 77918}

// TestSimulation runs the relay through scenarios that follow from seeds, and
// judges what became of each record. The environment asks for more than the short
// form: OUTBOX_RELAY_SIMULATE_STEPS for so many steps at least,
// OUTBOX_RELAY_SIMULATE_SEEDS for so many seeds, from OUTBOX_RELAY_SIMULATE_FROM
// on, and OUTBOX_RELAY_SIMULATE_SEED for one alone, with its story.
func TestSimulation(t *testing.T) {
	if os.Getenv("OUTBOX_RELAY_SIMULATE_SEED") != "" {
		one(t, number(t, "OUTBOX_RELAY_SIMULATE_SEED", 0))
		return
	}
	seeds, steps := number(t, "OUTBOX_RELAY_SIMULATE_SEEDS", 0), number(t, "OUTBOX_RELAY_SIMULATE_STEPS", 0)
	from := number(t, "OUTBOX_RELAY_SIMULATE_FROM", 1)
	sum := tally{began: time.Now(), counts: make(map[string]int64)}
	if seeds == 0 && steps == 0 {
		short := fewSeeds
		if thorough.Whole() {
			short = fixedSeeds
		}
		for _, seed := range short {
			sum.run(t, seed)
		}
	}
	for seed := from; seed < from+seeds || sum.steps < int64(steps); seed++ {
		sum.run(t, seed)
	}
	t.Log(sum.String())
}

// run runs a seed. The first that fail are told of.
func (s *tally) run(t *testing.T, seed uint64) {
	t.Helper()
	r := inBubble(t, draft(seed), nil)
	s.add(r)
	if len(r.Faults) == 0 {
		return
	}
	if s.failed++; s.failed <= tellAtMost {
		tell(t, draft(seed), r)
	} else {
		v := r.Faults[0]
		t.Errorf("seed %d: %s: %s %s", seed, v.Judge, v.About, v.Text)
	}
}

// tellAtMost is how many seeds that fail are made smaller and told as stories.
const tellAtMost = 3

func number(t *testing.T, name string, standard uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return standard
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is no number: %v", name, err)
	}
	return n
}

// one runs one seed, some times, as goroutines do not go the same way each time.
func one(t *testing.T, seed uint64) {
	t.Helper()
	const times = 10
	hashes := make(map[uint64]bool)
	for range times {
		r := inBubble(t, draft(seed), nil)
		hashes[hash(r.Events)] = true
		if len(r.Faults) > 0 {
			tell(t, draft(seed), r)
			return
		}
	}
	t.Logf("seed %d: nothing found in %d runs, with %d histories", seed, times, len(hashes))
}

// inBubble runs a scenario in virtual time, on one processor: so that a seed goes
// the same way more often.
func inBubble(t *testing.T, plan scenario, verbose logs) (out result) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rand.Seed(int64(plan.Seed)) //nolint:staticcheck // the backoff of calls draws from it
	synctest.Test(t, func(*testing.T) { out = simulate(plan, verbose) })
	return out
}

// tell fails the test with the story of the smallest scenario that fails alike.
func tell(t *testing.T, plan scenario, found result) {
	t.Helper()
	v := found.Faults[0]
	t.Errorf("seed %d: %s: %s %s", plan.Seed, v.Judge, v.About, v.Text)
	small, found := shrink(t, plan, found)
	t.Log(narrate(small, found))
}

// tally adds up what runs came to.
type tally struct {
	began         time.Time
	seeds, failed int
	steps         int64
	virtual       time.Duration
	counts        map[string]int64
}

func (s *tally) add(r result) {
	s.seeds++
	s.steps += r.Steps
	s.virtual += r.Time
	for what, n := range r.Counts {
		s.counts[what] += n
	}
}

func (s *tally) String() string {
	var b strings.Builder
	took := time.Since(s.began)
	fmt.Fprintf(&b, "%d steps of %d seeds in %v of virtual time; %.0f steps a second; %d seeds failed\n",
		s.steps, s.seeds, s.virtual.Round(time.Minute), float64(s.steps)/took.Seconds(), s.failed)
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "%10d  %s\n", s.counts[what], what)
	}
	return b.String()
}
