package dlq

import "errors"

// Refusal is why a request about the dead-letter queue was not carried out. It
// is an answer, not a failure: asking again changes nothing until something
// else does.
type Refusal struct {
	Kind   RefusalKind
	Detail string // what stands in the way
	Hint   string // what to do
	Brief  string // the same of many at once, of a bulk replay's; "": Detail tells of one alone
}

// RefusalKind is the bounded word for a refusal.
type RefusalKind string

const (
	// NotFound: there is no such thing.
	NotFound RefusalKind = "not_found"
	// Forbidden: the actor may not.
	Forbidden RefusalKind = "forbidden"
	// Conflict: not in this state, or something else comes first.
	Conflict RefusalKind = "conflict"
	// Orphaned: nothing would carry it out, as nobody relays its outbox.
	Orphaned RefusalKind = "orphaned"
	// Changed: it is not any more what the actor saw.
	Changed RefusalKind = "changed"
	// Invalid: the request makes no sense.
	Invalid RefusalKind = "invalid"
)

func (r *Refusal) Error() string { return r.Detail }

// AsRefusal returns the Refusal in err, or nil.
func AsRefusal(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}
