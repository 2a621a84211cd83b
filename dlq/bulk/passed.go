package bulk

import (
	"cmp"

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
// its own.
const maxReasons = 20

// refusedFor is why the queue refused a pin, as it is counted.
func refusedFor(r *dlq.Refusal) string { return cmp.Or(r.Brief, passedRefused) }

// skippedFor counts the pins that were passed over by the reason.
func (r *run) skippedFor() map[string]int {
	var out map[string]int
	for n, s := range r.states {
		if s != pinSkipped {
			continue
		}
		if out == nil {
			out = make(map[string]int)
		}
		why := cmp.Or(r.passed[n].why, passedOther)
		if _, told := out[why]; !told && len(out) >= maxReasons {
			why = passedOther
		}
		out[why]++
	}
	return out
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
