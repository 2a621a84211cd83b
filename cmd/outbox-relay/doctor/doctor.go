// Package doctor looks at what a deployment of the relay needs, before it is made
// and after: settings, catalog, access, indexes, topics, the clock, and a running
// service. Each finding comes with the command that mends it. It changes nothing
// but one document of its own, which it removes again.
package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

// checkWithin bounds one check. A service that does not answer costs no more.
const checkWithin = 10 * time.Second

// exam is one examination.
type exam struct {
	Config
	catalog *contracts.Catalog         // nil: it cannot be loaded
	needs   *requirements.Requirements // the catalog's; nil without one
	account account                    // whose credentials these are
	looked  []*topic                   // what pubsub has seen
}

// Examine runs every check. One that cannot be made says so, and stops no other.
// The report is complete also when ctx ends early: what was not looked at by then
// is skipped or failed for that reason.
func Examine(ctx context.Context, c Config) *Report {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()

	e := &exam{Config: c}
	r := &Report{Project: c.Project, Database: c.Database, Emulators: c.emulators()}
	loaded := e.load()
	r.Groups = append(r.Groups, e.settings(), e.access(), e.catalogue(loaded))
	if !c.Offline {
		r.Groups = append(r.Groups, e.credentials(ctx))
		r.Groups = append(r.Groups, e.live(ctx)...)
	}
	r.judge()
	return r
}

// live looks at everything that has to answer, at the same time: what hangs in
// one service delays no other. What IAM says is judged by what the calls have shown.
func (e *exam) live(ctx context.Context) []Group {
	parts := []func(context.Context) Group{e.firestore, e.pubsub, e.accounts, e.service}
	out := make([]Group, len(parts))
	var said grants
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { out[i] = part(ctx) }) // each call in it is bounded
	}
	wg.Go(func() { said = e.askIAM(ctx) })
	wg.Wait()
	return slices.Insert(out, len(out)-1, e.permissions(said, out))
}

// within bounds one check.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, checkWithin)
}
