package firestore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/switchboard"
)

// Faults makes calls fail on purpose. Rules are added and removed while the server
// runs, from any goroutine; DropStreams acts once, on what is open.
type Faults struct {
	rules  atomic.Pointer[[]*rule] // replaced as a whole; empty costs a load
	mu     sync.Mutex
	lastID int
	open   map[*openStream]struct{}
	conns  *connections
}

func newFaults() *Faults {
	f := &Faults{open: map[*openStream]struct{}{}, conns: newConnections()}
	f.rules.Store(new([]*rule))
	return f
}

// Fault is a rule: which calls, which of them, and what happens to them. What it
// does happens in the order of its fields.
type Fault struct {
	// Method is a short name ("Commit") or a full one
	// ("/google.firestore.v1.Firestore/Commit"); empty means every method.
	Method string
	// Collection limits the rule to calls that name a document of a collection
	// with this ID, or query it. A Listen stream counts by its targets.
	Collection string
	// Match, if set, decides further. It must not keep the call.
	Match func(Call) bool

	Skip  int     // spare so many matching calls first
	Times int     // then hit so many; 0: all until removed
	Share float64 // of those, hit this share; 0: all
	Seed  uint64  // of the dice for Share

	// Delay holds the call before it is handled; on a Listen stream, before a
	// target is added.
	Delay time.Duration
	// Stall lets nothing out while the rule stands: a unary call waits, a stream
	// stays open and silent. It acts on streams that are already open, too, and
	// ignores Skip, Times and Share on them.
	Stall bool
	// LoseResponse handles the call and then answers with Code, or Unavailable.
	LoseResponse bool
	// Code ends the call without handling it. OK, which is zero, does not.
	Code    codes.Code
	Message string
}

// Call is what a rule is asked about.
type Call struct {
	Method      string   // short
	FullMethod  string   //
	Collections []string // IDs of the collections that it touches
	Request     any      // the request message; on Listen, the latest one
}

// FaultStatus is a rule that stands, and how often it was met and hit.
type FaultStatus struct {
	ID      int
	Fault   Fault
	Matched int
	Hit     int
}

type rule struct {
	Fault
	id      int
	removed chan struct{} // closed when the rule is removed

	mu    sync.Mutex
	tally switchboard.Tally
}

// Add puts a rule in force and returns the function that removes it. Of several
// rules that match a call, each acts.
func (f *Faults) Add(fault Fault) (remove func()) {
	id := f.add(fault)
	return func() { f.Remove(id) }
}

func (f *Faults) add(fault Fault) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastID++
	r := &rule{
		Fault:   fault,
		id:      f.lastID,
		removed: make(chan struct{}),
		tally:   switchboard.NewTally(fault.Skip, fault.Times, fault.Share, fault.Seed),
	}
	rules := append(slices.Clone(*f.rules.Load()), r)
	f.rules.Store(&rules)
	return r.id
}

// Remove takes a rule out of force, and frees what it stalls.
func (f *Faults) Remove(id int) bool {
	return f.removeIf(func(r *rule) bool { return r.id == id })
}

// Clear removes every rule.
func (f *Faults) Clear() { f.removeIf(func(*rule) bool { return true }) }

func (f *Faults) removeIf(which func(*rule) bool) (found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var kept []*rule
	for _, r := range *f.rules.Load() {
		if which(r) {
			close(r.removed)
			found = true
		} else {
			kept = append(kept, r)
		}
	}
	f.rules.Store(&kept)
	return found
}

// List returns the rules in force, in the order in which they were added.
func (f *Faults) List() []FaultStatus {
	var out []FaultStatus
	for _, r := range *f.rules.Load() {
		r.mu.Lock()
		out = append(out, FaultStatus{r.id, r.Fault, r.tally.Met, r.tally.Hit})
		r.mu.Unlock()
	}
	return out
}

// matches looks at the call alone.
func (r *rule) matches(c Call) bool {
	return (r.Method == "" || r.Method == c.Method || r.Method == c.FullMethod) &&
		(r.Collection == "" || slices.Contains(c.Collections, r.Collection)) &&
		(r.Match == nil || r.Match(c))
}

// strikes counts a matching call and decides whether it is hit.
func (r *rule) strikes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally.Strikes()
}

// before does to a call what its rules say. It returns the error to answer with in
// place of handling the call, and the one to answer with after.
func (f *Faults) before(ctx context.Context, c Call) (instead, after error) {
	for _, r := range *f.rules.Load() {
		if !r.matches(c) || !r.strikes() {
			continue
		}
		if err := r.hold(ctx); err != nil {
			return err, nil
		}
		switch {
		case r.LoseResponse:
			after = r.err(codes.Unavailable)
		case r.Code != codes.OK:
			return r.err(r.Code), nil
		}
	}
	return nil, after
}

// hold waits out a delay, and a stall of anything but an open stream.
func (r *rule) hold(ctx context.Context) error {
	var wait <-chan time.Time
	if r.Delay > 0 {
		timer := time.NewTimer(r.Delay)
		defer timer.Stop()
		wait = timer.C
		select {
		case <-wait:
		case <-r.removed:
		case <-ctx.Done():
			return ctxError(ctx)
		}
	}
	if !r.Stall {
		return nil
	}
	select {
	case <-r.removed:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

func (r *rule) err(fallback codes.Code) error {
	code, message := r.Code, r.Message
	if code == codes.OK {
		code = fallback
	}
	if message == "" {
		message = "injected fault"
	}
	return status.Error(code, message)
}

// awaitStall blocks while a stalling rule matches a call that is under way.
func (f *Faults) awaitStall(ctx context.Context, call func() Call) error {
	for {
		var stalling *rule
		for _, r := range *f.rules.Load() {
			if r.Stall && r.matches(call()) {
				stalling = r
				break
			}
		}
		if stalling == nil {
			return nil
		}
		if err := stalling.hold(ctx); err != nil {
			return err
		}
	}
}

// ctxError is the reason why a context ended, as a status.
func ctxError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, ok := status.FromError(cause); ok {
		return cause
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return status.Error(codes.DeadlineExceeded, cause.Error())
	}
	return status.Error(codes.Canceled, cause.Error())
}

func shortMethod(full string) string { return full[strings.LastIndexByte(full, '/')+1:] }
