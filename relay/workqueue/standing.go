package workqueue

import (
	"time"

	"cloud.google.com/go/firestore"
)

// Standing is what a document's fields say of it to who looks. Its times are the
// server's.
type Standing struct {
	Path   string // relative to the database
	Tenant string // see Vocabulary.Tenant
	Status string // as it is written, known or not

	Created time.Time // zero: the document does not say
	Updated time.Time
	Read    time.Time
	Due     time.Time // pending: when it may be claimed; zero: at once
	Expires time.Time // processing: when its lease runs out

	Owner    string // the claim that had it last
	Attempts int
	Most     int // attempts until it is dead

	LastError, LastErrorCode string
}

// Standing reads a document's fields, as the engine does.
func (v *Vocabulary) Standing(snap *firestore.DocumentSnapshot) Standing {
	s := v.look(snap)
	text := func(field string) string {
		if field == "" {
			return ""
		}
		value, _ := snap.DataAtPath(firestore.FieldPath{field}) // an error is one of a field that is not there
		t, _ := value.(string)
		return t
	}
	tenant, _ := v.Tenant(s.path)
	return Standing{
		Path: s.path, Tenant: tenant, Status: text(v.Fields.Status), Created: s.created, Updated: s.updated, Read: s.read,
		Due: s.due, Expires: s.expires, Owner: s.owner, Attempts: s.attempts, Most: s.most,
		LastError: text(v.Fields.LastError), LastErrorCode: text(v.Fields.LastErrorCode),
	}
}

// Reset are the updates that make a document pending again, as if nobody had tried it yet: with no
// attempt counted, due at once, and claimed by nobody. Its last error stays, until the next
// attempt.
func (v *Vocabulary) Reset() []firestore.Update {
	set := fieldUpdates{}
	set.put(v.Fields.Status, v.Pending)
	set.put(v.Fields.Attempts, 0)
	set.put(v.Fields.Due, firestore.ServerTimestamp)
	set.put(v.Fields.LockedAt, nil)
	set.put(v.Fields.LockUntil, nil)
	set.put(v.Fields.UpdatedAt, firestore.ServerTimestamp)
	return set.list
}
