package bulk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRateDoublesUpToItsFull(t *testing.T) {
	const step = 5 * time.Second
	for _, c := range []struct {
		full float64
		want []float64 // after 0, 1, 2, ... steps
	}{
		{100, []float64{10, 20, 40, 80, 100, 100}},
		{20, []float64{2, 4, 8, 16, 20}},
		{3, []float64{1, 2, 3, 3}},
		{0.5, []float64{0.5, 0.5}},
	} {
		t.Run(fmt.Sprint(c.full), func(t *testing.T) {
			var got []float64
			for n := range c.want {
				got = append(got, rateAfter(c.full, time.Duration(n)*step, step))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
		})
	}
	if got := rateAfter(100, step-1, step); got != 10 {
		t.Errorf("just before the first step %v, want 10", got)
	}
	if got := rateAfter(1000, 10*365*24*time.Hour, step); got != 1000 {
		t.Errorf("after years %v, want 1000", got)
	}
}

func TestAllowanceNeverExceedsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.Float64Range(0.1, 1000).Draw(t, "rate")
		var a allowance
		start := time.Unix(0, 0)
		now, used := start, 0
		for range rapid.IntRange(1, 50).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			n := min(a.save(now, perSecond), rapid.IntRange(0, 100).Draw(t, "wanted"))
			a.use(n)
			used += n
		}
		if most := 1 + perSecond*now.Sub(start).Seconds() + 1e-6; float64(used) > most {
			t.Fatalf("%d in %s at %v a second, want %v at most", used, now.Sub(start), perSecond, most)
		}
	})
}

func TestAllowanceGivesWhatTheRateSays(t *testing.T) {
	var a allowance
	now, used := time.Unix(0, 0), 0
	for range 100 { // ten seconds
		n := a.save(now, 7)
		a.use(n)
		used += n
		now = now.Add(100 * time.Millisecond)
	}
	if used < 69 || used > 71 {
		t.Errorf("%d in ten seconds at 7 a second", used)
	}
	if n := a.save(now.Add(time.Hour), 7); n != 7 {
		t.Errorf("%d after an hour of rest, want no more than a second's", n)
	}
}

func TestEndingsStopAtMoreThanAFifth(t *testing.T) {
	for _, c := range []struct {
		name, ends string // d: delivered, f: failed
		want       string // what the words hold; "" when it goes on
	}{
		{"none", "", ""},
		{"too few to judge", "ffff", ""},
		{"exactly a fifth", "fdddd", ""},
		{"more than a fifth", "fdddf", "2 of the last 5"},
		{"ten of fifty", strings.Repeat("fdddd", 10), ""},
		{"eleven of fifty", strings.Repeat("fdddd", 10)[1:] + "ff", "11 of the last 50"},
		{"only the latest count", strings.Repeat("f", 100) + strings.Repeat("d", 50), ""},
		{"a good start does not help", strings.Repeat("d", 1000) + strings.Repeat("f", 11), "11 of the last 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e endings
			for _, end := range c.ends {
				e.add(end == 'f')
			}
			got := e.tooMany()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
