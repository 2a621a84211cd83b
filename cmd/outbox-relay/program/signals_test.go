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
// do others that pass on what they get: that is one wish to stop.
func TestSignals(t *testing.T) {
	type sent struct {
		after time.Duration // what came before
		what  os.Signal
	}
	for _, tt := range []struct {
		name string
		sent []sent
		want []int // exit codes
	}{
		{"one", []sent{{0, syscall.SIGTERM}}, nil},
		{"one that comes twice", []sent{{0, syscall.SIGTERM}, {12 * time.Millisecond, syscall.SIGTERM}}, nil},
		{"a second one", []sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGTERM}}, []int{143}},
		{"a second one behind one that comes twice", []sent{{0, syscall.SIGINT}, {0, syscall.SIGINT}, {100 * time.Millisecond, syscall.SIGINT}}, []int{130}},
		{"another one right behind the first", []sent{{0, syscall.SIGTERM}, {0, syscall.SIGINT}}, []int{130}},
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
