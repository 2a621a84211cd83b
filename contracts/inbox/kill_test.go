package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

// process is a process that is killed at a step: from then on nothing that it does
// has an effect. A step is what lies between any two of its calls of the store, of the
// dead-letter queue, and of the effect.
type process struct {
	inbox.Store
	graves *graveyard
	killed chan struct{}
	end    chan struct{} // the test's: who is dead returns then, and does nothing

	mu    sync.Mutex
	steps int
	at    int // 0: never
}

var errKilled = errors.New("killed")

// step returns false when the process is dead, once the test ends.
func (p *process) step() bool {
	p.mu.Lock()
	p.steps++
	if p.steps == p.at {
		close(p.killed)
	}
	dead := p.at > 0 && p.steps >= p.at
	p.mu.Unlock()
	if dead {
		<-p.end
	}
	return !dead
}

// around has a call take place between two steps.
func around[T any](p *process, call func() (T, error)) (t T, err error) {
	if !p.step() {
		return t, errKilled
	}
	t, err = call()
	if !p.step() {
		return t, errKilled
	}
	return t, err
}

func (p *process) Claim(ctx context.Context, ask inbox.Ask) (inbox.Claim, error) {
	return around(p, func() (inbox.Claim, error) { return p.Store.Claim(ctx, ask) })
}

func (p *process) GiveBack(ctx context.Context, ref inbox.Ref, f contracts.AttemptError, wait time.Duration) error {
	_, err := around(p, func() (int, error) { return 0, p.Store.GiveBack(ctx, ref, f, wait) })
	return err
}

func (p *process) Settle(ctx context.Context, ref inbox.Ref, end inbox.End, ttl time.Duration) error {
	_, err := around(p, func() (int, error) { return 0, p.Store.Settle(ctx, ref, end, ttl) })
	return err
}

func (p *process) Bury(ctx context.Context, d inbox.DeadLetter) error {
	_, err := around(p, func() (int, error) { return 0, p.graves.Bury(ctx, d) })
	return err
}

// A process is killed at each step in turn, and another one goes on. The events are
// handled in order, one of them after it failed once, and one is dead: none
// is lost, and the effect of the one that was under way happens twice at most.
func TestProcessIsKilledBetweenAnyTwoSteps(t *testing.T) {
	at := 1
	for ; ; at++ {
		over := false
		t.Run(fmt.Sprintf("step %d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { over = !killAt(t, at) })
		})
		if over || t.Failed() {
			break
		}
	}
	if at < 20 {
		t.Errorf("the processes took %d steps, want them to be killed between many", at)
	}
}

// killAt reports whether there was such a step.
func killAt(t *testing.T, at int) bool {
	store, did, dead := inbox.NewMemory(), &effects{}, &graveyard{}
	messages := series(t, "acc-1", 4)
	failsOnce, never := messages[1], messages[2]
	ctx, stop := context.WithCancel(t.Context())
	end := make(chan struct{})
	run := func(p *process) *broker {
		box := inbox.New(p, "billing", quiet(inbox.Options{DeadLetters: p, Delays: []time.Duration{time.Second}, MaxTries: 3}))
		b := &broker{}
		b.deliver(ctx, box, func(_ context.Context, e *inbox.Event) error {
			if !p.step() {
				return errKilled
			}
			if e.EventID == never.eventID || e.EventID == failsOnce.eventID && e.Attempt == 1 {
				return errBroken
			}
			did.add(e)
			if !p.step() {
				return errKilled
			}
			return nil
		}, messages...)
		return b
	}
	one := &process{Store: store, graves: dead, at: at, killed: make(chan struct{}), end: end}
	first := run(one)
	finished := make(chan struct{})
	go func() {
		first.wait()
		close(finished)
	}()
	killed := false
	select {
	case <-one.killed:
		killed = true
	case <-finished:
	}
	second := run(&process{Store: store, graves: dead, killed: make(chan struct{}), end: end})
	second.wait()

	twice := 0
	for _, m := range messages {
		switch n := len(did.of(m)); {
		case m.eventID == never.eventID && n != 0:
			t.Errorf("version %d has an effect though it failed", m.version)
		case m.eventID != never.eventID && (n < 1 || n > 2):
			t.Errorf("version %d has %d effects, want one, or two where it was under way", m.version, n)
		case n == 2:
			twice++
		}
	}
	if twice > 1 || twice == 1 && !killed {
		t.Errorf("%d events have two effects, want only the one that was under way at the kill", twice)
	}
	last := int64(0)
	for _, c := range did.calls {
		if c.version < last {
			t.Errorf("version %d comes after %d", c.version, last)
		}
		last = c.version
	}
	letters := dead.all()
	for _, l := range letters {
		if l.Record.EventID != never.eventID || l.Attempts != 3 {
			t.Errorf("dead is version %d after %d failures, want 3 after 3", l.Record.AggregateVersion, l.Attempts)
		}
	}
	if n := len(letters); n < 1 || n > 2 { // the same is buried again where that was under way
		t.Errorf("%d dead letters, want one, or the same again", n)
	}
	stop()
	close(end)
	<-finished
	return killed
}

// What ends the process that handles it, each time, is dead in the end, and not tried for ever, also where the
// dead-letter queue is away when it is to die.
func TestEventThatEndsItsProcess(t *testing.T) {
	t.Run("", func(t *testing.T) { endsItsProcess(t, 0) })
	t.Run("the dead-letter queue is away", func(t *testing.T) { endsItsProcess(t, time.Hour) })
}

func endsItsProcess(t *testing.T, away time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		store, dead, end := inbox.NewMemory(), &graveyard{fail: errBroken}, make(chan struct{})
		back := time.AfterFunc(away, func() {
			dead.mu.Lock()
			defer dead.mu.Unlock()
			dead.fail = nil
		})
		defer back.Stop()
		m := event(t, "acc-1", 1)
		var gone sync.WaitGroup
		handled := 0
		for range 30 {
			p := &process{Store: store, graves: dead, killed: make(chan struct{}), end: end}
			box := inbox.New(p, "billing", quiet(inbox.Options{DeadLetters: p}))
			acked := make(chan bool, 1)
			gone.Go(func() {
				deliver := func() bool {
					return box.Deliver(t.Context(), m.data, m.attributes, func(context.Context, *inbox.Event) error {
						handled++
						p.mu.Lock()
						p.at = p.steps + 1
						p.mu.Unlock()
						p.step()
						return errKilled
					})
				}
				for !deliver() && !p.over() {
					pass(time.Millisecond)
				}
				acked <- true
			})
			select {
			case <-p.killed:
				continue
			case <-acked:
			}
			break
		}
		close(end)
		gone.Wait()
		letters := dead.all()
		if handled != 10 || len(letters) != 1 || letters[0].Errors[0].Code != inbox.CodeTakeover {
			t.Errorf("handled %d times and dead letters %+v, want 10 times and one", handled, letters)
		}
	})
}

func (p *process) over() bool {
	select {
	case <-p.end:
		return true
	default:
		return false
	}
}
