package lanes

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// offer offers a new task of this id and reports whether it was taken.
func offer(t *testing.T, p *Pool, id string, behind int) bool {
	t.Helper()
	ok, err := p.Offer(task(id), behind)
	if err != nil {
		t.Fatalf("offer %s: %v", id, err)
	}
	return ok
}

// idles notes what Idle is told.
type idles struct {
	mu         sync.Mutex
	aggregates []string
}

func (i *idles) add(aggregate string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.aggregates = append(i.aggregates, aggregate)
}

func (i *idles) want(t *testing.T, aggregates ...string) {
	t.Helper()
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.aggregates, aggregates) {
		t.Errorf("idle was told of %q, want %q", i.aggregates, aggregates)
	}
}

func TestOfferToAnAggregateThatDoesNotWaitIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle idles
		s := newScript()
		s.takes = time.Second
		p := setup(t, Config{Handler: s.handle, Idle: idle.add})
		p.Start(t.Context())
		for _, id := range []string{"a/1", "a/2", "a/3"} {
			if !offer(t, p, id, 0) {
				t.Errorf("offer of %s was refused, want taken", id)
			}
			synctest.Wait() // a/1 runs from here on
		}
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "1s a/2 a/3")
		idle.want(t)
	})
}

func TestOfferBehindAWaitingHead(t *testing.T) {
	tests := map[string]struct {
		behind int
		taken  []bool // of a/2, a/3, a/4
		runs   []string
		idle   []string
	}{
		"none may queue": {0, []bool{false, false, false}, []string{"0s a/1", "10s a/1"}, []string{"a"}},
		"two may queue":  {2, []bool{true, true, false}, []string{"0s a/1", "10s a/1 a/2", "10s a/3"}, []string{"a"}},
		"all may queue":  {3, []bool{true, true, true}, []string{"0s a/1", "10s a/1 a/2", "10s a/3 a/4"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var idle idles
				s := newScript()
				s.verdict = failFirst(10*time.Second, "", "a/1")
				p := setup(t, Config{Handler: s.handle, Idle: idle.add})
				p.Start(t.Context())
				submit(t, p, "a/1")
				synctest.Wait()
				var taken []bool
				for _, id := range []string{"a/2", "a/3", "a/4"} {
					taken = append(taken, offer(t, p, id, tt.behind))
				}
				if diff := cmp.Diff(tt.taken, taken); diff != "" {
					t.Errorf("taken (-want +got):\n%s", diff)
				}
				idle.want(t) // the aggregate has its head still
				time.Sleep(time.Minute)
				s.want(t, tt.runs...)
				idle.want(t, tt.idle...)
			})
		})
	}
}

// Where room is short, the younger half of what queues as the head begins to wait
// leaves, and nothing of the aggregate goes on before whoever is handed it has taken
// note. Younger ones that cannot be fetched again keep older ones with them.
func TestWhatIsTooManyBehindAHeadIsShed(t *testing.T) {
	tests := map[string]struct {
		short     bool
		submitted string
		shed      []string
		refused   bool // what comes after a/5
		runs      []string
	}{
		"room":             {false, "", nil, false, []string{"0s a/1", "11s a/1 a/2", "12s a/3 a/4", "13s a/5 a/9"}},
		"short":            {true, "", []string{"a/4", "a/5"}, true, []string{"0s a/1", "1m1s a/1 a/2", "1m2s a/3"}},
		"one that stays":   {true, "a/4", []string{"a/5"}, true, []string{"0s a/1", "1m1s a/1 a/2", "1m2s a/3 a/4"}},
		"the last one has": {true, "a/5", nil, false, []string{"0s a/1", "11s a/1 a/2", "12s a/3 a/4", "13s a/5 a/9"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var idle idles
				s := newScript()
				s.takes = time.Second
				s.verdict = failFirst(10*time.Second, "", "a/1")
				var shed []string
				p := setup(t, Config{
					Handler: s.handle, Idle: idle.add,
					Short: func(*Task) bool { return tt.short },
					Shed: func(tasks []*Task) {
						time.Sleep(time.Minute)
						shed = append(shed, idsOf(tasks)...)
					},
				})
				p.Start(t.Context())
				submit(t, p, "a/1")
				synctest.Wait() // it runs
				for _, id := range []string{"a/2", "a/3", "a/4", "a/5"} {
					if id == tt.submitted {
						submit(t, p, id)
					} else if !offer(t, p, id, 1) {
						t.Errorf("offer of %s was refused, want taken", id)
					}
				}
				time.Sleep(5 * time.Second)
				if taken := offer(t, p, "a/9", 9); taken == tt.refused {
					t.Errorf("offer of a/9: taken %v", taken)
				}
				time.Sleep(time.Hour)
				s.want(t, tt.runs...)
				if diff := cmp.Diff(tt.shed, shed); diff != "" {
					t.Errorf("shed (-want +got):\n%s", diff)
				}
				if tt.refused {
					idle.want(t, "a")
				}
				if !offer(t, p, "a/10", 1) {
					t.Error("offer after idle was refused, want taken")
				}
			})
		})
	}
}

func TestRefusedTaskIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle idles
		s := newScript()
		s.takes = time.Second
		s.verdict = failFirst(10*time.Second, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Idle: idle.add})
		p.Start(t.Context())
		submit(t, p, "a/1")
		time.Sleep(2 * time.Second)
		if offer(t, p, "a/2", 0) {
			t.Fatal("offer of a/2 was taken behind a waiting head, want refused")
		}
		time.Sleep(9500 * time.Millisecond) // the head runs again: nothing waits
		if offer(t, p, "a/3", 0) {
			t.Error("offer of a/3 was taken although a/2 was refused, want refused")
		}
		if !offer(t, p, "a/2", 0) {
			t.Error("second offer of a/2 was refused, want taken")
		}
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "11s a/1", "12s a/2")
		idle.want(t, "a")
		if !offer(t, p, "a/3", 0) {
			t.Error("offer of a/3 after idle was refused, want taken")
		}
		s.want(t, "0s a/1", "11s a/1", "12s a/2", "1m11.5s a/3")
		idle.want(t, "a")
	})
}

func TestOfferOlderThanAWaitingHeadIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(10*time.Second, "", "a/5")
		p := setup(t, Config{Handler: s.handle})
		p.Start(t.Context())
		submit(t, p, "a/5")
		synctest.Wait()
		if !offer(t, p, "a/4", 0) {
			t.Error("offer of a/4 was refused, want it ahead of a/5")
		}
		time.Sleep(time.Minute)
		s.want(t, "0s a/5", "0s a/4", "10s a/5")
	})
}

func TestIdleMaySubmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.verdict = failFirst(time.Second, "", "a/1")
		var p *Pool
		p = setup(t, Config{Handler: s.handle, Idle: func(string) { submit(t, p, "a/2") }})
		p.Start(t.Context())
		submit(t, p, "a/1")
		synctest.Wait()
		offer(t, p, "a/2", 0)
		time.Sleep(time.Minute)
		s.want(t, "0s a/1", "1s a/1", "1s a/2")
	})
}

// Between a refusal and the note of what was left behind, the aggregate may run out
// of tasks, be told idle, and have another task that knows nothing of the refusal.
func TestIdleIsToldOfWhatWasLeftBehindLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle idles
		s := newScript()
		s.verdict = failFirst(10*time.Second, "", "a/1")
		p := setup(t, Config{Handler: s.handle, Idle: idle.add})
		p.Start(t.Context())
		if !offer(t, p, "a/1", 0) {
			t.Fatal("the first is refused")
		}
		synctest.Wait()
		if offer(t, p, "a/2", 0) {
			t.Fatal("the second is taken")
		}
		time.Sleep(time.Minute)
		idle.want(t, "a")
		s.takes = time.Second
		if !offer(t, p, "a/3", 0) { // by somebody else
			t.Fatal("the third is refused")
		}
		if !p.TellIdle(task("a/2")) {
			t.Error("nobody will be told though the aggregate has a task")
		}
		if offer(t, p, "a/4", 9) {
			t.Error("what comes after the one that was left behind is taken")
		}
		time.Sleep(time.Minute)
		idle.want(t, "a", "a")
		if p.TellIdle(task("a/2")) {
			t.Error("idle is to be told of an aggregate without tasks")
		}
	})
}
