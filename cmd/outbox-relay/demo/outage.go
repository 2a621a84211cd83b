package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/pubsub"
)

// Outage is the demo's: for a while, every publish to one target fails.
type Outage struct {
	target  contracts.TargetSpec
	after   time.Duration
	lasts   time.Duration
	mu      sync.Mutex
	beganAt time.Time
	over    bool
}

// NewOutage makes an outage that begins some time after the start.
func NewOutage(target contracts.TargetSpec, after, lasts time.Duration) *Outage {
	return &Outage{target: target, after: after, lasts: lasts}
}

// Run switches the fault on and waits until it is over, or ctx ends.
func (o *Outage) Run(ctx context.Context, faults *pubsub.Faults) error {
	if !shell.Pause(ctx, o.after) {
		return nil
	}
	id, err := faults.Add(pubsub.Fault{Topic: o.target.Topic, Code: codes.Unavailable})
	if err != nil {
		return err
	}
	defer faults.Remove(id)
	o.set(func() { o.beganAt = time.Now() })
	if !shell.Pause(ctx, o.lasts) {
		return nil
	}
	faults.Remove(id)
	o.set(func() { o.over = true })
	return nil
}

func (o *Outage) set(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

// Note tells an onlooker how the outage stands. A nil outage has nothing to
// tell.
func (o *Outage) Note() []string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.over:
		return []string{fmt.Sprintf("the outage of %s is over: what waited for it flows", o.target.Name)}
	case !o.beganAt.IsZero():
		return []string{fmt.Sprintf("OUTAGE: every publish to %s fails for %s; its records wait, the others flow", o.target.Name, o.lasts)}
	}
	return []string{fmt.Sprintf("an outage of %s begins %s after the start", o.target.Name, o.after)}
}
