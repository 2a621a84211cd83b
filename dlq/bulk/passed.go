package bulk

import (
	"cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Why a pin is passed over, in words.
const (
	passedGone      = "they are gone"
	passedDied      = "they were delivered or died again meanwhile"
	passedClosed    = "they were closed meanwhile"
	passedReplayed  = "another replay of them was asked for or ended meanwhile"
	passedWithdrawn = "their replay was withdrawn"
	passedBlocked   = "they are under SECURITY_BLOCK by now: each of these is decided by itself"
	passedRefused   = "the queue refused them: the log says why"
	passedOther     = "other reasons"
)

// maxReasons bounds the reasons that are told apart, as each unknown outbox has one of
// its own, and each dead letter that comes before others.
const maxReasons = 20

// refusedFor is why the queue refused a pin, as it is counted.
func refusedFor(r *dlq.Refusal) string { return cmp.Or(r.Brief, passedRefused) }

// skippedFor counts the pins that were passed over by the reason.
func (r *run) skippedFor() map[string]int {
	var out map[string]int
	for n, s := range r.states {
		if s == pinSkipped {
			out = countReason(out, cmp.Or(r.passed[n].why, passedOther))
		}
	}
	return out
}

// countReason counts one more for a reason, or for other reasons where there are many.
func countReason(reasons map[string]int, why string) map[string]int {
	if reasons == nil {
		reasons = make(map[string]int)
	}
	why = contracts.Clip(why) // it names an ID, and is the name of a field: Firestore takes 1,500 bytes
	if _, told := reasons[why]; !told && len(reasons) >= maxReasons {
		why = passedOther
	}
	reasons[why]++
	return reasons
}

// orphaned reports whether all pins were passed over because nobody relays their
// outbox.
func (r *run) orphaned() bool {
	for n, s := range r.states {
		if s != pinSkipped || !r.passed[n].orphan {
			return false
		}
	}
	return len(r.states) > 0
}
