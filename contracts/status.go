package contracts

// Status is where a record stands between its append and its end.
type Status string

// The statuses of a record in its outbox.
const (
	Pending   Status = "pending"   // appended, or released; waiting for its delivery
	Retrying  Status = "retrying"  // a delivery failed; waiting for nextAttemptAt
	Delivered Status = "delivered" // every target acknowledged
	Dead      Status = "dead"      // stands in the dead-letter queue
	Held      Status = "held"      // its aggregate is frozen
)

// Statuses lists every status.
func Statuses() []Status { return []Status{Pending, Retrying, Delivered, Dead, Held} }

// Valid reports whether s is a known status.
func (s Status) Valid() bool {
	switch s {
	case Pending, Retrying, Delivered, Dead, Held:
		return true
	}
	return false
}
