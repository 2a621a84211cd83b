package program

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// timeout(1) sends its signal to the program and then to the group that the program is in, as
// do others that pass on what they get: that may be one wish to stop.
func TestSignals(t *testing.T) {
	type sent struct {
		after time.Duration // what came before
		what  os.Signal
	}
	for _, tt := range []struct {
		name string
		sent []sent
		then time.Duration // before it is looked at
		want []int         // exit codes
	}{
		{"one", []sent{{0, syscall.SIGTERM}}, time.Hour, nil},
		{"one that comes twice", []sent{{0, syscall.SIGTERM}, {12 * time.Millisecond, syscall.SIGTERM}}, grace - 1, nil},
		{"one that comes twice, and much later", []sent{{0, syscall.SIGTERM}, {12 * time.Millisecond, syscall.SIGTERM}}, time.Hour, []int{143}},
		{"a second one", []sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGTERM}}, 0, []int{143}},
		{"a second one behind one that comes twice", []sent{{0, syscall.SIGINT}, {0, syscall.SIGINT}, {100 * time.Millisecond, syscall.SIGINT}}, 0, []int{130}},
		{"another one right behind the first", []sent{{0, syscall.SIGTERM}, {0, syscall.SIGINT}}, 0, []int{130}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, done := make(chan os.Signal), make(chan struct{})
				defer close(done)
				ctx, cancel := context.WithCancelCause(t.Context())
				exits := make(chan int, len(tt.sent))
				go heed(signals, done, cancel, func(code int) { exits <- code })
				for _, s := range tt.sent {
					time.Sleep(s.after)
					signals <- s.what
				}
				time.Sleep(tt.then)
				synctest.Wait()
				if ctx.Err() == nil {
					t.Error("it goes on after the first")
				}
				close(exits)
				var got []int
				for code := range exits {
					got = append(got, code)
				}
				if len(got) != len(tt.want) || len(got) > 0 && got[0] != tt.want[0] {
					t.Errorf("exited with %v, want %v", got, tt.want)
				}
			})
		})
	}
}
