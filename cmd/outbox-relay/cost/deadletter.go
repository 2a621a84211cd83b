package cost

import "outboxrelay/contracts"

// DeadLetter is what a record pays for dying after the attempts that the catalog
// grants it, its append apart: in its outbox, and in the dead-letter queue. A
// SAFE_AUTO one is then delivered by its first replay; what people decide comes on
// top for the others.
//
// The reads of the queue are measured, not derived: a dead letter that comes or
// goes wakes several parts of every instance, which then look less soon again.
func DeadLetter(c *contracts.Catalog, tier contracts.Tier, on contracts.OnDelivered, instances int) (outbox, queue Operations) {
	others := float64(instances - 1)
	// It enters the window, leaves it changed, and is read once more to be copied.
	outbox = Operations{Reads: 3, Writes: float64(c.Retry.MaxAttempts)}
	switch tier {
	case contracts.SafeAuto:
		queue = Operations{Reads: 21.4 + 6*others, Writes: 3} // the letter, its end, and the audit of that
		outbox.Reads += 2                                     // as it is replayed, and to be marked
		if on == contracts.DeleteDelivered {
			outbox.Deletes++
		} else {
			outbox.Writes++
			outbox.Expired++
		}
	case contracts.SecurityBlock:
		queue = Operations{Reads: 5.5 + 1.7*others, Writes: 5} // letter, freeze, audit, alert, and that it was published
	default:
		queue = Operations{Writes: 1}
	}
	return outbox, queue
}

// frozenFor is how long an aggregate stays frozen in hours: assumed.
const frozenFor = 24
