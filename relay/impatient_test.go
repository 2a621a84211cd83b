package relay_test

import (
	"context"
	"sync"
	"time"

	"outboxrelay/ier"
	ierpubsub "outboxrelay/ier/pubsub"
)

// impatient is a target whose publishes take a moment at most for as long as its topic
// hangs. Others, and its own once it is mended, take the time that a slow machine
// needs: a publish that is given up comes twice.
type impatient struct {
	ier.Target
	brief ier.Target

	mu   *sync.RWMutex // held for reading by each delivery
	over *bool
}

// impatient has the relays that are run next give up publishes to a target that hangs
// after within. What it returns takes the place of mend.
func (f *fixture) impatient(name string, within time.Duration, mend func()) (mended func()) {
	f.t.Helper()
	brief, err := ierpubsub.NewTarget(f.topics, f.catalog.Targets[name].Topic, ierpubsub.Settings{Timeout: within})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := brief.Close(ctx); err != nil {
			f.t.Error(err)
		}
	})
	var mu sync.RWMutex
	over := false
	f.wrapTarget = func(wrapped string, target ier.Target) ier.Target {
		if wrapped != name {
			return target
		}
		return impatient{target, brief, &mu, &over}
	}
	return func() {
		mu.Lock() // once those that hang are given up
		defer mu.Unlock()
		mend()
		over = true
	}
}

func (t impatient) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if *t.over {
		return t.Target.Deliver(ctx, parcels)
	}
	return t.brief.Deliver(ctx, parcels)
}
