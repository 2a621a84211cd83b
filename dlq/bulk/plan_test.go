package bulk

import (
	"testing"
	"time"
)

func TestPlanTakesAsLongAsTheRamp(t *testing.T) {
	for _, c := range []struct {
		total int
		rate  float64
		want  time.Duration
	}{
		{0, 10, 0},
		{5, 10, 0},                                // the canary alone
		{10, 1000, time.Second},                   // 5 at 100 a second
		{10, 10, 5 * time.Second},                 // 5 at 1 a second
		{5 + 5 + 10 + 20, 10, 15 * time.Second},   // at 1, 2 and 4 a second
		{5 + 75 + 100, 10, 20*time.Second + 10e9}, // at 1, 2, 4 and 8, then 10
		{25, 0.5, 40 * time.Second},               // slow from the beginning
	} {
		if got := PlanOf(c.total, c.rate).Takes; got != c.want {
			t.Errorf("%d at %v a second take %s, want %s", c.total, c.rate, got, c.want)
		}
	}
}
