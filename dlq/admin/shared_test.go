package admin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// source is something to be read, with the number of reads.
type source struct {
	reads atomic.Int64
	err   atomic.Pointer[error]
	slow  time.Duration
	hook  func()
}

func (s *source) read(ctx context.Context) (int64, error) {
	n := s.reads.Add(1)
	if s.hook != nil {
		s.hook()
	}
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if err := s.err.Load(); err != nil {
		return 0, *err
	}
	return n, nil
}

func (s *source) shared() *shared[int64] {
	return &shared[int64]{read: s.read, now: time.Now, good: func(int64) time.Duration { return 10 * time.Second }}
}

func TestSharedIsReadOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{slow: time.Second}
		s := src.shared()
		for round := range 3 {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if v, _, err := s.get(t.Context()); v != int64(round+1) || err != nil {
						t.Errorf("round %d: got %d, %v", round, v, err)
					}
				})
			}
			all.Wait()
			time.Sleep(10 * time.Second)
		}
		if got := src.reads.Load(); got != 3 {
			t.Errorf("%d reads, want 3", got)
		}
	})
}

func TestSharedFailureIsToldWithTheLastValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		s := src.shared()
		src.err.Store(new(errors.New("away")))
		if _, at, err := s.get(t.Context()); err == nil || !at.IsZero() {
			t.Errorf("got %v, %v", at, err)
		}
		if s.get(t.Context()); src.reads.Load() != 1 {
			t.Errorf("it was tried again at once: %d reads", src.reads.Load())
		}
		src.err.Store(nil)
		time.Sleep(sharedAgain)
		if v, at, err := s.get(t.Context()); v != 2 || at.IsZero() || err != nil {
			t.Errorf("got %d, %v, %v", v, at, err)
		}
		src.err.Store(new(errors.New("away")))
		time.Sleep(10 * time.Second)
		if v, at, err := s.get(t.Context()); v != 2 || at.IsZero() || err == nil {
			t.Errorf("got %d, %v, %v, want the last value and the failure", v, at, err)
		}
	})
}

// TestSharedOutlivesWhoAskedFirst: others wait for what that one began.
func TestSharedOutlivesWhoAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{slow: 2 * time.Second}
		s := src.shared()
		first, leave := context.WithCancel(t.Context())
		go s.get(first)
		synctest.Wait()
		second, give := context.WithTimeout(t.Context(), time.Second)
		defer give()
		leave()
		if _, _, err := s.get(second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits no longer gets %v", err)
		}
		if v, _, err := s.get(t.Context()); v != 1 || err != nil || src.reads.Load() != 1 {
			t.Errorf("got %d, %v after %d reads, want the first read", v, err, src.reads.Load())
		}
	})
}

func TestSharedReadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{slow: time.Hour}
		began := time.Now()
		if _, _, err := src.shared().get(t.Context()); err == nil || time.Since(began) != sharedWithin {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// TestSharedForgotten: what was read before a change is not told after it.
func TestSharedForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		s := src.shared()
		s.get(t.Context())
		s.forget()
		if v, _, _ := s.get(t.Context()); v != 2 {
			t.Errorf("got the value of read %d, want 2", v)
		}
		s.forget()
		src.hook = sync.OnceFunc(s.forget) // while it is read
		if v, _, _ := s.get(t.Context()); v != 4 {
			t.Errorf("got the value of read %d, want 4", v)
		}
	})
}

func TestSharedSurvivesAPanic(t *testing.T) {
	src := &source{hook: func() { panic("x") }}
	s := src.shared()
	func() {
		defer func() { _ = recover() }()
		s.get(t.Context())
	}()
	src.hook = nil
	if v, _, err := s.get(t.Context()); v != 2 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
}
