package firestore

// Names by which others find in Collection what is open: events that a consumer handles, or
// that wait for their next try. Such an event holds back the later ones of its aggregate.
const (
	FieldConsumer   = "consumer"
	FieldEventID    = "eventId"
	FieldState      = "state"
	FieldLeaseUntil = "leaseUntil" // of its last claim, also while it waits

	StateClaimed = claimed
	StateWaiting = waiting
)
