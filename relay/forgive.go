package relay

import (
	"time"

	"outboxrelay/contracts"
)

// forgive takes back the attempts that e lost to outages alone. A failure that
// counts for one record may turn out to have been the beginning of its target's
// outage: only what failed across aggregates tells.
func (r *Relay) forgive(e *entry) {
	kept := e.rec.AttemptErrors[:0:0]
	failed, stand := make(map[int]bool), make(map[int]bool) // attempts: all that are known, and those that count
	for _, a := range e.rec.AttemptErrors {
		failed[a.Attempt] = true
		if from, to := r.router.Outage(a.Target); within(a.At, from, to) {
			continue
		}
		stand[a.Attempt] = true
		kept = append(kept, a)
	}
	if len(kept) == len(e.rec.AttemptErrors) {
		return
	}
	e.rec.AttemptErrors = kept
	e.rec.Attempts = max(0, e.rec.Attempts-(len(failed)-len(stand)))
	e.forgiven = true
}

// within reports whether t lies in the time from from to to: without end if to is
// zero, and none at all if from is.
func within(t, from, to time.Time) bool {
	return !from.IsZero() && !t.Before(from) && (to.IsZero() || !t.After(to))
}

// counts reports whether a failure of that kind at a target counts as an attempt:
// not while the target is out, whatever it answers.
func (r *Relay) counts(kind contracts.Kind, target string) bool {
	return kind == contracts.Attributable && !r.router.Open(target)
}
