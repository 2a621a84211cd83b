package inboxtest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"outboxrelay/contracts/inbox"
)

// Ledger is where the effects of a test of transactions are written.
type Ledger[T any] struct {
	Store interface {
		inbox.Store
		inbox.Transactor[T]
	}
	// Write adds one to the effects of an event, as part of the transaction.
	Write func(ctx context.Context, tx T, eventID string) error
	// Effects reads how often an event had its effect.
	Effects func(t *testing.T, eventID string) int
}

var errHandler = errors.New("the handler fails")

// Transactions holds an inbox.Transactor to its promise: effect and mark happen together or
// not at all.
func Transactions[T any](t *testing.T, open func(t *testing.T) Ledger[T]) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite, l Ledger[T])
	}{
		{"effect and mark happen together", together[T]},
		{"a failure leaves neither", neither[T]},
		{"a panic leaves neither", panics[T]},
		{"the end of the goroutine leaves neither", ends[T]},
		{"a lost claim has no effect", lostClaim[T]},
		{"of those who took over from each other one has an effect", takeovers[T]},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t)
			test.run(t, newSuite(t, Fixture{Store: l.Store}), l)
		})
	}
}

func (l Ledger[T]) within(ctx context.Context, a inbox.Ask) error {
	return l.Store.Within(ctx, a.Ref, long, func(ctx context.Context, tx T) error { return l.Write(ctx, tx, a.EventID) })
}

func (l Ledger[T]) want(t *testing.T, a inbox.Ask, want int) {
	t.Helper()
	if n := l.Effects(t, a.EventID); n != want {
		t.Errorf("%d effects, want %d", n, want)
	}
}

func together[T any](t *testing.T, s *suite, l Ledger[T]) {
	a, next := s.ask("agg", 1), s.ask("agg", 2)
	s.want(a, inbox.Claimed)
	if err := l.within(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	l.want(t, a, 1)
	s.want(another(a), inbox.Processed)
	s.want(next, inbox.Claimed)
	s.settle(a, inbox.EndProcessed) // again
	s.lost("handle again", l.within(t.Context(), a))
	l.want(t, a, 1)
}

func neither[T any](t *testing.T, s *suite, l Ledger[T]) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	err := l.Store.Within(t.Context(), a.Ref, long, func(ctx context.Context, tx T) error {
		if err := l.Write(ctx, tx, a.EventID); err != nil {
			return err
		}
		return errHandler
	})
	if !errors.Is(err, errHandler) {
		t.Errorf("got %v, want the handler's error", err)
	}
	l.want(t, a, 0)
	s.want(another(a), inbox.Busy)
	s.giveBack(a, "Broken", 0)
	a = another(a)
	s.want(a, inbox.Claimed)
	if err := l.within(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	l.want(t, a, 1)
}

func panics[T any](t *testing.T, s *suite, l Ledger[T]) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_ = l.Store.Within(t.Context(), a.Ref, long, func(ctx context.Context, tx T) error {
			if err := l.Write(ctx, tx, a.EventID); err != nil {
				return err
			}
			panic("all is lost")
		})
	}()
	l.want(t, a, 0)
	s.giveBack(a, "Panic", 0)
}

// ends has a handler end its goroutine, as a FailNow of testing does. What the transaction had
// locked is free then: the claim can be given back.
func ends[T any](t *testing.T, s *suite, l Ledger[T]) {
	a := s.ask("agg", 1)
	s.want(a, inbox.Claimed)
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		_ = l.Store.Within(t.Context(), a.Ref, long, func(ctx context.Context, tx T) error {
			if err := l.Write(ctx, tx, a.EventID); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		})
		returned = true
	}()
	if <-ended {
		t.Error("the end of the goroutine is swallowed")
	}
	l.want(t, a, 0)
	s.giveBack(a, "Ended", 0)
}

func lostClaim[T any](t *testing.T, s *suite, l Ledger[T]) {
	a := s.ask("agg", 1)
	a.Lease = short
	s.want(a, inbox.Claimed)
	b, _ := s.eventually(a)
	s.lost("handle what another took over", l.within(t.Context(), a))
	l.want(t, a, 0)
	s.giveBack(b, "", long)
	s.lost("handle what was given back", l.within(t.Context(), b))
	l.want(t, a, 0)
}

// takeovers has several claims of one event, each after the lease of the one before ran
// out, handle it at the same time.
func takeovers[T any](t *testing.T, s *suite, l Ledger[T]) {
	a := s.ask("agg", 1)
	a.Lease = short
	claims := []inbox.Ask{a}
	s.want(a, inbox.Claimed)
	for range 4 {
		a, _ = s.eventually(a)
		claims = append(claims, a)
	}
	var wg sync.WaitGroup
	for _, c := range claims {
		wg.Go(func() {
			if err := l.within(t.Context(), c); err != nil && !errors.Is(err, inbox.ErrLost) {
				t.Errorf("handle: %v", err)
			}
		})
	}
	wg.Wait()
	l.want(t, a, 1)
	s.want(another(a), inbox.Processed)
}
