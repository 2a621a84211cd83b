package workqueue

import (
	"strings"
	"time"

	"cloud.google.com/go/firestore"
)

// state is what a document's fields say of it, as the server read it.
type state struct {
	path       string
	ref        *firestore.DocumentRef
	read       time.Time // the server's, as all times here
	updated    time.Time
	created    time.Time // createdAt; zero: none
	pending    bool
	processing bool
	due        time.Time // pending: zero is at once
	expires    time.Time // processing: when the lease runs out
	owner      string
	attempts   int
	most       int
}

// look reads the fields. What has another type than it should counts as absent.
func (v *Vocabulary) look(snap *firestore.DocumentSnapshot) state {
	get := func(field string) any {
		if field == "" {
			return nil
		}
		value, _ := snap.DataAtPath(firestore.FieldPath{field}) // an error is one of a field that is not there
		return value
	}
	timestamp := func(field string) time.Time { t, _ := get(field).(time.Time); return t }
	integer := func(field string) int { n, _ := get(field).(int64); return int(n) }
	s := state{
		path: relative(snap.Ref), ref: snap.Ref, read: snap.ReadTime, updated: snap.UpdateTime,
		created: timestamp(v.Fields.CreatedAt), attempts: max(0, integer(v.Fields.Attempts)), most: v.MaxAttempts,
	}
	s.owner, _ = get(v.Fields.Owner).(string)
	if most := integer(v.Fields.MaxAttempts); most > 0 {
		s.most = most
	}
	switch status, _ := get(v.Fields.Status).(string); status {
	case v.Pending:
		s.pending, s.due = true, timestamp(v.Fields.Due)
	case v.Processing:
		s.processing, s.expires = true, timestamp(v.Fields.LockUntil)
		if since := timestamp(v.Fields.LockedAt); !since.IsZero() {
			s.expires = since.Add(v.Term)
		}
		// A lease that is missing, or further ahead than any could be, is judged
		// by the document's last change.
		if s.expires.IsZero() || s.expires.After(s.updated.Add(v.Term)) {
			s.expires = s.updated.Add(v.Term)
		}
	}
	return s
}

// open reports whether the document is one to act on, now or later.
func (s *state) open() bool { return s.pending || s.processing }

// word is the status of an open document.
func (v *Vocabulary) word(s *state) string {
	if s.processing {
		return v.Processing
	}
	return v.Pending
}

// wait is how long after it was read the document may be claimed; 0 is at once.
func (s *state) wait() time.Duration {
	at := s.due
	if s.processing {
		at = s.expires
	}
	if at.IsZero() {
		return 0
	}
	return max(0, at.Sub(s.read))
}

// overdue is for how long the pending document might have been claimed when it was read.
func (s *state) overdue() time.Duration {
	since := s.due
	if since.Before(s.created) {
		since = s.created
	}
	if since.IsZero() {
		since = s.updated
	}
	if !s.pending {
		return 0
	}
	return max(0, s.read.Sub(since))
}

// relative is a document's path below the database.
func relative(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}
