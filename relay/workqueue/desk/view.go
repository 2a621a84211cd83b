package desk

import (
	"cmp"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/firestore/readable"
	"outboxrelay/relay/workqueue"
)

// View is how people look at a queue, and what they may decide.
type View struct {
	Vocabulary workqueue.Vocabulary
	Statuses   []Status // every one, in the order of a document's way
	About      []string // fields that say what a document is about, and nothing that people are told
	// OfID returns what a document's ID tells of fields that it may leave out; nil: nothing.
	OfID func(id string) map[string]string
	// Collection returns the path of a tenant's documents, where a tenant has a collection of its
	// own; ok is false where no tenant has that name. nil: the vocabulary has a TenantField.
	Collection func(tenant string) (path string, ok bool)
	ClosedAt   string // field of the time of its end
	// DeadLetter returns the path of the letter that a bad end leaves; nil: none.
	DeadLetter func(path string) string
	// Requeued are updates beside the engine's of a document that is tried again; nil: none.
	Requeued []firestore.Update
	// Warning is what somebody has to know who has a document tried again; nil, or "": nothing.
	Warning func(fields map[string]any) string
}

// Status is a status of a queue's documents.
type Status struct {
	Name     string
	Open     bool   // somebody will act on it
	Requeues bool   // a bad end: a person may have it tried again
	Refusal  string // why not, where it does not
	Hint     string
}

func (v *View) status(name string) (Status, bool) {
	for _, s := range v.Statuses {
		if s.Name == name {
			return s, true
		}
	}
	return Status{}, false
}

func (v *View) names() []string {
	names := make([]string, len(v.Statuses))
	for n, s := range v.Statuses {
		names[n] = s.Name
	}
	return names
}

// item reads a document.
func (v *View) item(snap *firestore.DocumentSnapshot) *Item {
	s := v.Vocabulary.Standing(snap)
	i := &Item{
		ID: s.Path, Queue: v.Vocabulary.Queue, Tenant: s.Tenant, Status: s.Status, Attempts: s.Attempts, Most: s.Most, About: map[string]string{},
		CreatedAt: s.Created, UpdatedAt: s.Updated, Owner: s.Owner, LastError: s.LastError, LastErrorCode: s.LastErrorCode,
		DueAt: s.Due, LeaseEnds: s.Expires,
	}
	var ofID map[string]string
	if v.OfID != nil {
		ofID = v.OfID(snap.Ref.ID)
	}
	said := func(field string) string {
		if !has(snap, field) {
			return ofID[field]
		}
		return textOf(snap, field)
	}
	for _, field := range v.About {
		if text := said(field); text != "" {
			i.About[field] = text
		}
	}
	if field := v.Vocabulary.TenantField; field != "" {
		i.Tenant = cmp.Or(said(field), i.Tenant)
	}
	return i
}

// whole reads a document with all its fields. One that the SDK cannot read, as the engine closed
// it for, is shown all the same: by the fields that the view names.
func (v *View) whole(snap *firestore.DocumentSnapshot) *Item {
	i := v.item(snap)
	i.Fields, _ = readable.Fields(snap, append(v.selected(), v.ClosedAt, v.Vocabulary.Fields.UpdatedAt))
	return i
}

// has reports whether a document has a field; one that is null says nothing, as if it had none.
func has(snap *firestore.DocumentSnapshot, field string) bool {
	value, err := snap.DataAtPath(firestore.FieldPath{field})
	return err == nil && value != nil
}

func textOf(snap *firestore.DocumentSnapshot, field string) string {
	value, _ := snap.DataAtPath(firestore.FieldPath{field}) // an error is one of a field that is not there
	text, _ := value.(string)
	return text
}
