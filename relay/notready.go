package relay

import "cmp"

// notReady says why this instance can do no work at all, and what Firestore answers to it where that is known.
func (r *Relay) notReady(outboxes []OutboxHealth) string {
	if r.shared {
		return "neither registered to own outboxes, nor a listener of one alive whose lease is valid: " + firestoreSays(r.owners.Trouble())
	}
	var last string
	for _, h := range outboxes {
		for _, l := range h.Listeners {
			last = cmp.Or(last, l.LastReason)
		}
	}
	return "no listener is alive: " + firestoreSays(last)
}

// firestoreSays puts the end of a call, or of a listener, into words; "" is that of none.
func firestoreSays(reason string) string {
	switch reason {
	case "", "Unknown", "silent", "panic", "recycled": // no code of an answer
		return "Firestore cannot be reached or refuses the service, as the log says, or the relay has just started"
	case "Unavailable", "DeadlineExceeded", "Canceled":
		return "Firestore cannot be reached (" + reason + ")"
	}
	return "Firestore answers " + reason
}
