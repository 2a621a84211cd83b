package main

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
)

// fate is what the run has in store for a record.
type fate string

// The fates.
const (
	fateSound     fate = "sound"     // nothing: it must be delivered, and no attempt counted
	fateFlaky     fate = "flaky"     // refused once or twice, then taken: it must be delivered
	fateExhausted fate = "exhausted" // refused until its attempts are used up
	fatePermanent fate = "permanent" // refused for good
	fateBroken    fate = "broken"    // breaks the contract
)

// record is one that was appended, and what is known to be true of it.
type record struct {
	outbox, id string
	eventID    string
	traceID    string
	key        string // idempotencyKey
	aggregate  string
	version    int64
	lane       contracts.Lane
	tier       contracts.Tier
	targets    []string
	appended   time.Time // when it was sent, by our clock
	calm       bool      // it was made after all faults, and nothing waits for it

	fate fate
	// refusing is the target that refuses it; "" for a sound or broken one.
	refusing string
	refusals int // fateFlaky: how many requests with it are refused
	// replayRefusals is how many of its replays are refused.
	replayRefusals int

	// Guarded by the truth's lock.
	confirmed bool // its commit was answered, or found to have been applied
	refused   int  // requests that were refused on its account
}

func (r *record) path() string { return r.outbox + "/" + r.id }

// mayDie reports whether a dead letter of it is right.
func (r *record) mayDie() bool {
	return r.fate == fateExhausted || r.fate == fatePermanent || r.fate == fateBroken
}

// truth is all that was appended. Safe for concurrent use.
type truth struct {
	mu      sync.Mutex
	records map[string]*record // by outbox and key
	calm    map[string]bool    // by path: those that nothing waits for
}

func newTruth() *truth { return &truth{records: map[string]*record{}, calm: map[string]bool{}} }

// add notes records before they are sent: a relay may deliver one before its
// producer has the answer.
func (t *truth) add(records ...*record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		t.records[r.outbox+"/"+r.key] = r
		if r.calm {
			t.calm[r.path()] = true
		}
	}
}

func (t *truth) isCalm(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calm[path]
}

// confirm says that the records are in.
func (t *truth) confirm(records ...*record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		r.confirmed = true
	}
}

// all lists the records in the order of their append. Those without an answer
// count when exists says that they are in.
func (t *truth) all(exists func(path string) bool) []*record {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*record
	for _, r := range t.records {
		if r.confirmed || exists(r.path()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *record) int { return a.appended.Compare(b.appended) })
	return out
}

func (t *truth) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.records)
}

// verdict is what the broker answers to a message by its attributes; OK lets it
// pass.
func (t *truth) verdict(attributes map[string]string) codes.Code {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.records[attributes[contracts.AttrOutbox]+"/"+attributes[contracts.AttrIdempotencyKey]]
	if r == nil || r.refusing != attributes[contracts.AttrTarget] {
		return codes.OK
	}
	code := codes.Internal // which counts as an attempt
	switch {
	case attributes[contracts.AttrReplay] != "":
		if r.replayRefusals == 0 {
			return codes.OK
		}
		r.replayRefusals--
	case r.fate == fateFlaky:
		if r.refused == r.refusals {
			return codes.OK
		}
	case r.fate == fatePermanent:
		code = codes.InvalidArgument
	}
	r.refused++
	return code
}
