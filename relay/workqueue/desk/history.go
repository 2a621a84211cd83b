package desk

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
)

// history is what the fields tell of what happened, the oldest first. What has no
// time comes last.
func (v *View) history(i *Item, snap *firestore.DocumentSnapshot, letters []*firestore.DocumentSnapshot) []Event {
	fields := &v.Vocabulary.Fields
	at := func(of *firestore.DocumentSnapshot, field string) time.Time {
		if field == "" {
			return time.Time{}
		}
		value, _ := of.DataAtPath(firestore.FieldPath{field}) // an error is one of a field that is not there
		t, _ := value.(time.Time)
		return t
	}
	events := []Event{{cmp.Or(i.CreatedAt, snap.CreateTime), EventCreated, "it was created"}}
	known, _ := v.status(i.Status)
	closed := known.Name != "" && !known.Open
	if i.Status == v.Vocabulary.Processing {
		text := "a worker has it"
		if i.Owner != "" {
			text = i.Owner + " has it"
		}
		events = append(events, Event{at(snap, fields.LockedAt), EventClaimed, text})
	} else if i.Owner != "" && !closed {
		events = append(events, Event{time.Time{}, EventClaimed, i.Owner + " had it last"})
	}
	if i.LastErrorCode != "" || i.LastError != "" {
		text := "the last failure: " + cmp.Or(i.LastErrorCode, "no code")
		if i.Attempts > 0 && i.Status != v.Vocabulary.Processing { // else they may count one that has not failed
			text = fmt.Sprintf("attempt %d failed: %s", i.Attempts, cmp.Or(i.LastErrorCode, "no code"))
		}
		failed := time.Time{}
		if closed {
			failed = cmp.Or(at(snap, v.ClosedAt), i.UpdatedAt)
		}
		events = append(events, Event{failed, EventFailed, text})
	}
	for _, letter := range letters {
		if letter.Exists() {
			events = append(events, Event{letter.UpdateTime, EventDeadLetter, "its last bad end is told by " + relative(letter.Ref)})
		}
	}
	if closed {
		by := ""
		if i.Owner != "" {
			by = ", by " + i.Owner
		}
		events = append(events, Event{cmp.Or(at(snap, v.ClosedAt), i.UpdatedAt), EventClosed, "it is " + i.Status + by})
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		if a.At.IsZero() || b.At.IsZero() {
			return cmp.Compare(b2i(a.At.IsZero()), b2i(b.At.IsZero()))
		}
		return a.At.Compare(b.At)
	})
	return events
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
