package replayer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// pauseOf is how long a target is parked from noon; 0: not at all.
func pauseOf(p *parking, target string) time.Duration {
	if _, at := p.free([]string{target}, noon); !at.IsZero() {
		return at.Sub(noon)
	}
	return 0
}

// tell tells that an item that misses these targets was blocked by them all.
func tell(p *parking, now time.Time, targets ...string) {
	p.tries(targets, now)
	p.told(targets, nil, targets, now)
}

func TestParkingPausesForLongerEachTime(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	var got []time.Duration
	for range 100 {
		p.target("x").until = time.Time{} // its pause is over
		tell(p, noon, "x")
		got = append(got, pauseOf(p, "x"))
	}
	var want []time.Duration
	for _, seconds := range []int{1, 2, 4, 10, 20, 30, 30} {
		want = append(want, time.Duration(seconds)*time.Second)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got[99] != 30*time.Second {
		t.Errorf("pause %s after a hundred tries, want 30s", got[99])
	}
	p.told([]string{"x"}, []string{"x"}, nil, noon)
	tell(p, noon, "x")
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after a round that was not blocked, want 1s", got)
	}
}

// TestTargetsArePaused, not what waits for them: many that were blocked together
// tell the same, and while one tries the others wait.
func TestTargetsArePaused(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 64 {
		tell(p, noon, "x")
	}
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after 64 that were blocked together, want 1s", got)
	}
	free := func(want bool, now time.Time, targets ...string) {
		t.Helper()
		if ok, _ := p.free(targets, now); ok != want {
			t.Errorf("%v free: %t, want %t", targets, ok, want)
		}
	}
	later := noon.Add(time.Second)
	free(false, noon, "x")
	free(true, noon, "y")
	free(true, noon, "x", "y")
	free(true, noon)
	free(true, later, "x")
	p.tries([]string{"x", "y"}, later)
	free(false, later, "x")
	p.told([]string{"x", "y"}, []string{"y"}, nil, later) // nothing was heard of x
	free(true, later, "x")
	p.tries([]string{"x"}, later)
	p.told([]string{"x"}, []string{"x"}, nil, later)
	p.tries([]string{"x"}, later)
	free(true, later, "x")
}

func TestUnreachableTargetsAreAskedForSoon(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 20 {
		p.unreachable([]string{"x"}, noon)
	}
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s, want 1s however often", got)
	}
}

func TestBellEndsPauses(t *testing.T) {
	p := newParking(time.Second, 30*time.Second)
	for range 5 {
		p.target("x").until = time.Time{}
		tell(p, noon, "x")
	}
	p.rung(noon)
	if got := pauseOf(p, "x"); got != time.Second {
		t.Errorf("pause %s after a bell when it had just begun, want 1s", got)
	}
	p.target("x").until = noon.Add(time.Hour)
	p.rung(noon.Add(2 * time.Second))
	if ok, _ := p.free([]string{"x"}, noon.Add(2*time.Second)); !ok {
		t.Error("a bell did not end the pause")
	}
}

func TestPausesEndTogether(t *testing.T) {
	for _, c := range []struct {
		tries int
		want  []time.Duration // ends, of what is parked at each 1.1 s
	}{
		{1, []time.Duration{1, 3, 4, 5, 6, 7}},
		{5, []time.Duration{20, 20, 20, 20, 25, 25}},
	} {
		p := newParking(time.Second, 30*time.Second)
		var got []time.Duration
		for n := range c.want {
			now, pause := noon.Add(time.Duration(n)*1100*time.Millisecond), parked{}
			for range c.tries {
				p.blocked(&pause, now)
			}
			got = append(got, pause.until.Sub(noon)/time.Second)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("after %d tries, seconds (-want +got):\n%s", c.tries, diff)
		}
	}
}
