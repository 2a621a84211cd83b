package poll

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTrue(t *testing.T) {
	for _, c := range []struct {
		name        string
		least, look time.Duration
		within      time.Duration
		after       time.Duration // when it is true
		looks       int
		want        bool
	}{
		{"at once", time.Hour, 0, time.Hour, 0, 1, true},
		{"cheap looks", 10 * time.Millisecond, 0, time.Minute, 100 * time.Millisecond, 11, true},
		{"dear looks", 10 * time.Millisecond, 100 * time.Millisecond, time.Minute, 900 * time.Millisecond, 2, true},
		{"very dear looks", 10 * time.Millisecond, time.Second, time.Minute, 4 * time.Second, 3, true},
		{"rare looks", 5 * time.Second, time.Second, time.Minute, 12 * time.Second, 3, true},
		{"never", 10 * time.Millisecond, 0, 95 * time.Millisecond, time.Hour, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, looks := time.Now(), 0
				got := True(c.within, c.least, func() bool {
					looks++
					there := time.Since(began) >= c.after
					time.Sleep(c.look)
					return there
				})
				if got != c.want || looks != c.looks {
					t.Errorf("%t after %d looks, want %t after %d", got, looks, c.want, c.looks)
				}
			})
		})
	}
}
