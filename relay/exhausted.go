package relay

import (
	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// blame is a failure that named its own reason for a dead letter. It is kept in
// memory alone: after a restart the next failure there names it again.
type blame struct {
	target string
	reason contracts.Reason
}

// note takes in a failure. One without a reason changes nothing.
func (b *blame) note(f ier.TargetFailure) {
	if f.Reason != "" {
		*b = blame{f.Target, f.Reason}
	}
}

// exhausted is the reason and the tier of e's dead letter when its attempts are
// used up; the tier is that of a permanent failure as well. A failure may have named a
// reason; it counts while its target lacks the record, whichever target failed last.
func (e *entry) exhausted() (contracts.Reason, contracts.Tier) {
	if e.blamed.reason == "" || e.rec.HasTarget(e.blamed.target) {
		return contracts.AttemptsExhausted, e.tier
	}
	return e.blamed.reason, deadTier(e.blamed.reason, e.tier)
}

// deadTier is the tier of a dead letter with a reason; tier is the catalog's.
// Whoever keeps rights that were to be taken away is a matter of security,
// whatever the catalog says.
func deadTier(reason contracts.Reason, tier contracts.Tier) contracts.Tier {
	if reason == contracts.ClaimsRefreshFailed {
		return contracts.SecurityBlock
	}
	return tier
}
