package relay

import "outboxrelay/contracts"

// forgive takes back the attempts that e lost to outages alone. A failure that
// counts for one record may turn out to have been the beginning of its target's
// outage: only what failed across aggregates tells.
func (r *Relay) forgive(e *entry) {
	kept := e.rec.AttemptErrors[:0:0]
	failed, stand := make(map[int]bool), make(map[int]bool) // attempts: all that are known, and those that count
	for _, a := range e.rec.AttemptErrors {
		failed[a.Attempt] = true
		if r.router.WasOut(a.Target, a.At) {
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

// counts reports whether a failure of that kind at a target counts as an attempt:
// not while the target is out, whatever it answers.
func (r *Relay) counts(kind contracts.Kind, target string) bool {
	return kind == contracts.Attributable && !r.router.Open(target)
}
