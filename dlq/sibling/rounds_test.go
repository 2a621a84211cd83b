package sibling

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRounds(t *testing.T) {
	config := Config{Poll: time.Minute, RetryMin: time.Second, RetryMax: 8 * time.Second}.WithDefaults()
	t.Run("at each poll and whenever the bell rings", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			bell := make(chan struct{}, 1)
			var count atomic.Int64
			done := make(chan error)
			go func() {
				done <- Rounds(ctx, bell, config, "work", func(context.Context) error { count.Add(1); return nil })
			}()
			expect := func(when string, want int64) {
				synctest.Wait()
				if got := count.Load(); got != want {
					t.Errorf("%s: %d rounds, want %d", when, got, want)
				}
			}
			expect("at first", 1)
			time.Sleep(time.Minute)
			expect("after a poll", 2)
			bell <- struct{}{}
			expect("after a bell", 3)
			cancel()
			if err := <-done; err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	})
	t.Run("with a backoff after failures, in which bells still count afterwards", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			bell := make(chan struct{}, 1)
			var count atomic.Int64
			done := make(chan error)
			go func() {
				done <- Rounds(ctx, bell, config, "work", func(context.Context) error {
					if count.Add(1) < 5 {
						return errors.New("down")
					}
					return nil
				})
			}()
			time.Sleep(50 * time.Second) // 1+2+4+8 with jitter, and less than a poll after them
			bell <- struct{}{}
			synctest.Wait()
			if got := count.Load(); got != 6 {
				t.Errorf("%d rounds, want 5 and one for the bell", got)
			}
			cancel()
			<-done
		})
	})
	t.Run("until a panic", func(t *testing.T) {
		err := Rounds(t.Context(), nil, config, "work", func(context.Context) error {
			return errors.Join(errors.New("down"), Guarded(func() error { panic("a fault") }))
		})
		if !Panicked(err) {
			t.Errorf("ended with %v, want the panic", err)
		}
	})
}
