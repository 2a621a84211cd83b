package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"outboxrelay/deploy/local/rig"
	"outboxrelay/relay/lease/leasetest"
)

// leaseWatch looks at the leases all the time, past all proxies, and remembers
// who was seen as the owner of each taking. A taking is told by its time, which
// is the server's, and which renewals leave as it is.
type leaseWatch struct {
	stage *stage

	mu     sync.Mutex
	owners map[taking][]string
}

// taking is one time at which a share was taken.
type taking struct {
	share string
	since time.Time
}

// leaseLook is the pause between two looks: several fit between the renewals of
// the shortest term.
const leaseLook = 200 * time.Millisecond

// run looks until ctx ends. A look that fails is made up for by the next.
func (w *leaseWatch) run(ctx context.Context) error {
	for {
		leases, _, _ := leasetest.Read(ctx, w.stage.clients.Docs)
		for share, l := range leases {
			w.saw(taking{share, l.Since}, l.Owner)
		}
		if !rig.Sleep(ctx, leaseLook) {
			return nil
		}
	}
}

func (w *leaseWatch) saw(at taking, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner != "" && !slices.Contains(w.owners[at], owner) { // "": it was released
		w.owners[at] = append(w.owners[at], owner)
	}
}

// all is what was seen so far.
func (w *leaseWatch) all() map[taking][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[taking][]string{}
	for at, owners := range w.owners {
		out[at] = slices.Clone(owners)
	}
	return out
}
