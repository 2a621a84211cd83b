package cost

import "outboxrelay/contracts"

// Append is what a producer pays for a record: its document.
func Append() Operations { return Operations{Writes: 1} }

// Delivered is what the relay pays for a record that every target takes at the
// first attempt, of which a share was read out of a backlog.
//
// The listener of a lane that has caught up reads a record as it enters the
// window, and once more as it leaves it changed; one that was deleted leaves for
// nothing. A page of a backlog reads it once.
func Delivered(on contracts.OnDelivered, backlog float64) Operations {
	if on == contracts.DeleteDelivered {
		return Operations{Reads: 1, Deletes: 1}
	}
	return Operations{Reads: 2 - backlog, Writes: 1, Expired: 1}
}

// Retried is what a record pays in addition for its first failed attempt, after
// which it is delivered. It leaves the window changed, and does not come back
// into it.
func Retried(on contracts.OnDelivered, backlog float64) Operations {
	if on == contracts.DeleteDelivered {
		return Operations{Reads: 1 - backlog, Writes: 1}
	}
	return Operations{Writes: 1}
}

// RoleChange is what CLAIMS_HANDLER pays for a record: account, snapshot and signal
// read before and after the claims are set; the snapshot, the signal and the note
// that it was published are written.
func RoleChange() Operations { return Operations{Reads: 6, Writes: 3} }
