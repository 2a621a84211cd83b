package lanes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// policy is that of most tests: short runs, so that their bounds are seen.
var policy = contracts.LanePolicy{SLA: 2 * time.Second, Workers: 4, Run: 2}

// setup makes a pool that is not started yet and ends with the test.
func setup(t *testing.T, cfg Config) *Pool {
	t.Helper()
	if cfg.Lane == "" {
		cfg.Lane = contracts.StandardLane
	}
	if cfg.Policy == (contracts.LanePolicy{}) {
		cfg.Policy = policy
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Drain(context.Background()) })
	return p
}

// task makes one from "aggregate/version" or "aggregate/version/tie".
func task(id string) *Task {
	parts := strings.SplitN(id, "/", 3)
	t := &Task{Aggregate: parts[0], Work: id}
	if _, err := fmt.Sscan(parts[1], &t.Version); err != nil {
		panic(err)
	}
	if len(parts) == 3 {
		t.Tie = parts[2]
	}
	return t
}

// submit submits new tasks of these ids.
func submit(t *testing.T, p *Pool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := p.Submit(task(id)); err != nil {
			t.Fatalf("submit %s: %v", id, err)
		}
	}
}

// idOf names the task as it was made.
func idOf(t *Task) string { return t.Work.(string) }

func idsOf(tasks []*Task) []string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, idOf(t))
	}
	return ids
}

// script is a handler that notes what it is given. Its fields are set before
// the pool starts.
type script struct {
	takes   time.Duration                    // of fake time, for each run
	verdict func(id string, nth int) Verdict // nth: how often the task was given so far, from 1; nil: Done

	mu    sync.Mutex
	runs  []string // "0s a/1 a/2": when it began, and what was in it
	given map[string]int
	start time.Time
}

func newScript() *script { return &script{given: make(map[string]int), start: time.Now()} }

func (s *script) handle(_ context.Context, run []*Task) []Verdict {
	s.mu.Lock()
	s.runs = append(s.runs, fmt.Sprint(time.Since(s.start), " ", strings.Join(idsOf(run), " ")))
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	verdicts := make([]Verdict, len(run))
	for i, t := range run {
		id := idOf(t)
		s.given[id]++
		if s.verdict != nil {
			verdicts[i] = s.verdict(id, s.given[id])
		}
	}
	return verdicts
}

// want compares the runs so far, once nothing moves any more.
func (s *script) want(t *testing.T, runs ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(runs, s.runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// forget drops the runs so far, once nothing moves any more.
func (s *script) forget() {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = nil
}

// failFirst has the tasks of these ids retried once, after wait, unless label is
// woken before.
func failFirst(wait time.Duration, label string, ids ...string) func(string, int) Verdict {
	return func(id string, nth int) Verdict {
		for _, f := range ids {
			if f == id && nth == 1 {
				return Verdict{Action: Retry, At: time.Now().Add(wait), On: label}
			}
		}
		return Verdict{}
	}
}

// observed returns a log and what is written to it.
func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, entries := observer.New(zapcore.DebugLevel)
	return zap.New(core), entries
}
