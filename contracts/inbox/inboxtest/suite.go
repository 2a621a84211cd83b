package inboxtest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

const (
	long  = time.Hour
	short = 50 * time.Millisecond
	// patience is how long what should come is waited for.
	patience = time.Minute
)

type suite struct {
	t        *testing.T
	f        Fixture
	store    inbox.Store
	consumer string
}

func newSuite(t *testing.T, f Fixture) *suite {
	return &suite{t: t, f: f, store: f.Store, consumer: "c-" + uuid.NewString()[:8]}
}

// ask asks for a new event of an aggregate.
func (s *suite) ask(aggregate string, version int64) inbox.Ask {
	return inbox.Ask{
		Ref:         inbox.Ref{Consumer: s.consumer, EventID: uuid.NewString(), Token: uuid.NewString()},
		AggregateID: aggregate, Version: version, Lease: long, Keep: long,
	}
}

// another is the same event asked for by another.
func another(a inbox.Ask) inbox.Ask {
	a.Token = uuid.NewString()
	return a
}

func (s *suite) claim(a inbox.Ask) inbox.Claim {
	s.t.Helper()
	c, err := s.store.Claim(s.t.Context(), a)
	if err != nil {
		s.t.Fatalf("claim: %v", err)
	}
	return c
}

func (s *suite) want(a inbox.Ask, want inbox.Verdict) inbox.Claim {
	s.t.Helper()
	c := s.claim(a)
	if c.Verdict != want {
		s.t.Fatalf("verdict is %v, want %v: %+v", c.Verdict, want, c)
	}
	return c
}

func (s *suite) settle(a inbox.Ask, end inbox.End) {
	s.t.Helper()
	if err := s.store.Settle(s.t.Context(), a.Ref, end, long); err != nil {
		s.t.Fatalf("settle: %v", err)
	}
}

func (s *suite) giveBack(a inbox.Ask, code string, wait time.Duration) {
	s.t.Helper()
	if err := s.store.GiveBack(s.t.Context(), a.Ref, failure(code), wait); err != nil {
		s.t.Fatalf("give back: %v", err)
	}
}

func (s *suite) lost(what string, err error) {
	s.t.Helper()
	if !errors.Is(err, inbox.ErrLost) {
		s.t.Errorf("%s: got %v, want ErrLost", what, err)
	}
}

func failure(code string) contracts.AttemptError {
	if code == "" {
		return contracts.AttemptError{}
	}
	return contracts.AttemptError{
		At: time.Date(2026, 11, 23, 12, 0, 0, 123456000, time.UTC), Attempt: 1, Target: "who", Code: code, Message: "it said \"no\" \u2713 {}\n",
	}
}

// eventually asks, each time as another, until the event is claimed.
func (s *suite) eventually(a inbox.Ask) (inbox.Ask, inbox.Claim) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if s.f.Tick != nil {
			s.f.Tick()
		}
		a = another(a)
		c := s.claim(a)
		if c.Verdict == inbox.Claimed {
			return a, c
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("verdict stays %v, want it claimed", c.Verdict)
		}
		time.Sleep(short / 5)
	}
}
