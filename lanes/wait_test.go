package lanes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
)

func TestVerdicts(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	tests := map[string]struct {
		first func(id string) Verdict // verdict on a task's first run; later ones are Done
		want  []string
	}{
		"all done": {
			func(string) Verdict { return Verdict{Action: Done} },
			[]string{"0s a/1 a/2 a/3", "0s a/4"},
		},
		"drop leaves": {
			func(string) Verdict { return Verdict{Action: Drop} },
			[]string{"0s a/1 a/2 a/3", "0s a/4"},
		},
		"again goes back in order": {
			func(id string) Verdict { return map[string]Verdict{"a/2": {Action: Again}}[id] },
			[]string{"0s a/1 a/2 a/3", "0s a/2 a/4"},
		},
		"retry with zero time is now": {
			func(id string) Verdict { return map[string]Verdict{"a/2": {Action: Retry}}[id] },
			[]string{"0s a/1 a/2 a/3", "0s a/2 a/4"},
		},
		"retry in the past is now": {
			func(id string) Verdict { return map[string]Verdict{"a/2": {Action: Retry, At: in(-time.Hour)}}[id] },
			[]string{"0s a/1 a/2 a/3", "0s a/2 a/4"},
		},
		"retry holds back what is behind": {
			func(id string) Verdict {
				return map[string]Verdict{"a/2": {Action: Retry, At: in(5 * time.Second)}, "a/3": {Action: Again}}[id]
			},
			[]string{"0s a/1 a/2 a/3", "5s a/2 a/3 a/4"},
		},
		"again ahead of a retry runs at once and alone": {
			func(id string) Verdict {
				return map[string]Verdict{"a/1": {Action: Again}, "a/2": {Action: Retry, At: in(5 * time.Second)}}[id]
			},
			[]string{"0s a/1 a/2 a/3", "0s a/1", "5s a/2 a/4"},
		},
		"each retry keeps its own wait": {
			func(id string) Verdict {
				return map[string]Verdict{
					"a/1": {Action: Retry, At: in(2 * time.Second)},
					"a/2": {Action: Retry, At: in(5 * time.Second)},
					"a/3": {Action: Retry, At: in(1 * time.Second)},
				}[id]
			},
			[]string{"0s a/1 a/2 a/3", "2s a/1", "5s a/2 a/3 a/4"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.verdict = func(id string, nth int) Verdict {
					if nth == 1 && id != "a/4" {
						return tt.first(id)
					}
					return Verdict{}
				}
				p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 2, Run: 3}})
				submit(t, p, "a/1", "a/2", "a/3", "a/4")
				p.Start(t.Context())
				time.Sleep(time.Minute)
				s.want(t, tt.want...)
			})
		})
	}
}

func TestOlderTaskGoesAheadOfAWaitingHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(10*time.Second, "", "a/5", "a/4")
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/5")
		time.Sleep(time.Second)
		submit(t, p, "a/6", "a/4") // a/4 fails too, and then a/5 is due before it
		time.Sleep(time.Second)
		submit(t, p, "a/3")
		time.Sleep(time.Minute)
		s.want(t, "0s a/5", "1s a/4", "2s a/3", "11s a/4 a/5", "11s a/6")
	})
}

func TestOlderTaskLeavesTheOldHeadItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(10*time.Second, "", "a/5")
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/5")
		time.Sleep(time.Second)
		submit(t, p, "a/4")
		time.Sleep(time.Minute)
		s.want(t, "0s a/5", "1s a/4", "10s a/5")
	})
}

func TestWaitsEndInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		seconds := map[string]int{"a/1": 9, "b/1": 3, "c/1": 6, "d/1": 3, "e/1": 1}
		s.verdict = func(id string, nth int) Verdict {
			if nth > 1 {
				return Verdict{}
			}
			return Verdict{Action: Retry, At: s.start.Add(time.Duration(seconds[id]) * time.Second)}
		}
		p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1}})
		submit(t, p, "a/1", "b/1", "c/1", "d/1", "e/1")
		p.Start(t.Context())
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "0s b/1", "0s c/1", "0s d/1", "0s e/1", "1s e/1", "3s b/1", "3s d/1", "6s c/1", "9s a/1")
	})
}

func TestWake(t *testing.T) {
	tests := map[string]struct {
		label string // of the waits
		wake  string
		want  []string
	}{
		"its label":        {"target", "target", []string{"1s b/1", "1s a/1", "2s b/1", "2s a/1"}},
		"another label":    {"target", "other", []string{"1s b/1", "1s a/1", "1h0m1s b/1", "1h0m1s a/1"}},
		"no label, no one": {"", "", []string{"1s b/1", "1s a/1", "1h0m1s b/1", "1h0m1s a/1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.verdict = failFirst(time.Hour, tt.label, "a/1", "b/1")
				p := setup(t, Config{Handler: s.handle, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1}})
				submit(t, p, "b/1")
				time.Sleep(time.Second)
				submit(t, p, "a/1") // appended after b/1
				p.Start(t.Context())
				time.Sleep(time.Second)
				p.Wake(tt.wake)
				time.Sleep(2 * time.Hour)
				s.want(t, tt.want...)
			})
		})
	}
}

func TestWakeLeavesTheOtherWaitsTheirTime(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				waits, labels := make(map[string]time.Duration), make(map[string]string)
				var want []string
				for i, key := range random.Perm(30) {
					id := fmt.Sprint(key)
					waits[id], labels[id] = time.Duration(10+i)*time.Second, "X"
					if random.IntN(2) == 0 {
						labels[id] = "Y"
						want = append(want, fmt.Sprint(waits[id], " ", id))
					}
				}
				s := newScript()
				s.verdict = func(id string, nth int) Verdict {
					if nth > 1 {
						return Verdict{}
					}
					return Verdict{Action: Retry, At: s.start.Add(waits[id]), On: labels[id]}
				}
				p := setup(t, Config{Handler: s.handle})
				for id := range waits {
					if err := p.Submit(&Task{Aggregate: id, Work: id}); err != nil {
						t.Fatal(err)
					}
				}
				p.Start(t.Context())
				synctest.Wait()
				p.Wake("X")
				s.forget()
				time.Sleep(time.Hour)
				s.want(t, want...)
			})
		})
	}
}

func TestWakeReachesAWaitBehindTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = func(id string, nth int) Verdict {
			switch {
			case nth > 1:
				return Verdict{}
			case id == "a/1":
				return Verdict{Action: Retry, At: time.Now().Add(5 * time.Second)}
			default:
				return Verdict{Action: Retry, At: time.Now().Add(time.Hour), On: "target"}
			}
		}
		p := setup(t, Config{Handler: s.handle})
		submit(t, p, "a/1", "a/2")
		p.Start(t.Context())
		time.Sleep(time.Second)
		p.Wake("target")
		time.Sleep(time.Minute)
		s.want(t, "0s a/1 a/2", "5s a/1 a/2")
	})
}

func TestWakeDuringTheRunIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.takes = 2 * time.Second
		s.verdict = failFirst(time.Hour, "target", "a/1")
		p := setup(t, Config{Handler: s.handle})
		submit(t, p, "a/1")
		p.Start(t.Context())
		time.Sleep(time.Second)
		p.Wake("target") // the handler has found the target sick, but not said so yet
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "2s a/1")
	})
}

func TestHandlerAtFault(t *testing.T) {
	tests := map[string]Handler{
		"panics":              func(context.Context, []*Task) []Verdict { panic("boom") },
		"too few verdicts":    func(context.Context, []*Task) []Verdict { return nil },
		"too many verdicts":   func(context.Context, []*Task) []Verdict { return make([]Verdict, 3) },
		"unknown action":      func(context.Context, []*Task) []Verdict { return []Verdict{{Action: Retry + 1}, {}} },
		"action out of range": func(context.Context, []*Task) []Verdict { return []Verdict{{}, {Action: -1}} },
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				log, entries := observed()
				first := true
				p := setup(t, Config{Log: log, Handler: func(ctx context.Context, run []*Task) []Verdict {
					verdicts := s.handle(ctx, run)
					if first {
						first = false
						return fault(ctx, run)
					}
					return verdicts
				}})
				submit(t, p, "a/1", "a/2", "a/3")
				p.Start(t.Context())
				time.Sleep(time.Minute)
				s.want(t, "0s a/1 a/2", "1s a/1 a/2", "1s a/3")
				if got := p.Stats(); got.Faults != 1 || got.Delivered != 3 {
					t.Errorf("got %d faults and %d delivered, want 1 and 3", got.Faults, got.Delivered)
				}
				for _, e := range entries.All() {
					fields := e.ContextMap()
					if fields["lane"] != string(contracts.StandardLane) || fields["stack"] == "" || fields["problem"] == "" {
						t.Errorf("entry %v lacks lane, stack or problem", fields)
					}
				}
				if entries.Len() != 1 {
					t.Errorf("%d log entries, want 1", entries.Len())
				}
			})
		})
	}
}
