package workqueue

import (
	"errors"
	"slices"
	"time"
)

// Vocabulary says what a queue's documents look like. All fields but those marked
// optional are needed.
type Vocabulary struct {
	Queue      string // its name: in metrics, logs, commands
	Collection string // ID of the collection, or of the collection group
	Group      bool   // all collections of that ID, below any document
	Fields     Fields

	Pending    string // status of what is to be claimed
	Processing string // status of what is claimed

	// Counts says when an attempt is counted.
	Counts Counting
	// Term is how long a lease holds.
	Term time.Duration
	// MaxAttempts is after how many attempts a document is dead. One that says
	// otherwise in Fields.MaxAttempts has its own.
	MaxAttempts int
	// Backoff is how long to wait after so many attempts, from 1.
	Backoff func(attempts int) time.Duration

	// Tenant returns whose the document is, and the last path that a document of this
	// tenant could have in the order of names: where a round goes on to the next one.
	// Paths are relative to the database, such as "outbox/ID", and a tenant's are contiguous.
	Tenant func(path string) (name, last string)
	// TenantField is the field that names the tenant in a document, by which people look for
	// its documents; "" where a tenant's documents are a collection of their own.
	TenantField string

	// Dead closes a document whose attempts are used up, or whose failure is
	// permanent. What it leaves out the engine adds: attempts, error, an empty lease.
	Dead func(c *Claim, f Failure) Outcome

	// Logged are names of fields, strings that tell nothing of what people read, which each
	// log line of a claim names.
	Logged []string

	// Outcomes are all words that the handler and Dead put into Outcome.Word.
	Outcomes []string
}

// Fields are names of fields at the top of a document. Those that are optional are
// not written where they are "".
type Fields struct {
	Status    string
	CreatedAt string // a timestamp, which whoever creates the document sets; orders the listener

	Attempts    string
	MaxAttempts string // optional: an integer of the document's own

	// Due is when a pending document may be claimed. Absent, null or no timestamp: at
	// once.
	Due string

	// The lease is told by one of these two: since when, by the server's timestamp, or
	// until when. Absent, null or no timestamp while processing: since the
	// document's last change.
	LockedAt, LockUntil string
	Owner               string // the claim's token, a string

	LastError     string // at most 1 KiB; null after a success
	LastErrorCode string // optional: one word; null after a success
	UpdatedAt     string // optional: the server's timestamp of the engine's last write
}

// Counting is when an attempt is counted.
type Counting int

// When an attempt is counted.
const (
	// AtClaim counts before the handler runs.
	AtClaim Counting = iota
	// AtFailure counts when the handler has failed, and when a document is claimed
	// whose worker died.
	AtFailure
)

// Failure is a failed attempt.
type Failure struct {
	Err       error
	Code      string // one bounded word, such as "UNAVAILABLE"; see Coded
	Attempts  int    // so many are counted now
	Permanent bool   // no further attempt would help
}

func (v *Vocabulary) validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	f := v.Fields
	need(v.Queue != "" && v.Collection != "", "Queue and Collection are needed")
	need(f.Status != "" && f.CreatedAt != "" && f.Attempts != "" && f.Due != "" && f.Owner != "" && f.LastError != "", "Fields lack a name")
	need((f.LockedAt == "") != (f.LockUntil == ""), "one of LockedAt and LockUntil is needed")
	need(v.Pending != "" && v.Processing != "" && v.Pending != v.Processing, "Pending and Processing are needed, and differ")
	need(v.Term > 0 && v.MaxAttempts > 0, "Term and MaxAttempts are needed")
	need(v.Backoff != nil && v.Tenant != nil && v.Dead != nil, "Backoff, Tenant and Dead are needed")
	need(!slices.Contains(v.Outcomes, ""), "an outcome has no name")
	return errors.Join(errs...)
}
