package dlq

import "outboxrelay/contracts"

// Round is how one round of a replay's delivery went. Each missing target is in
// one of the first three lists. A pending target that the catalog does not route
// to any more is among the failed, unless an outage ended the round.
type Round struct {
	Acked   []string
	Failed  []contracts.AttemptError // attempts that count
	Blocked []string                 // not tried, or an outage: the target's breaker is or may soon be open
	Missing []string                 // all that the round set out for; empty when it came to no delivery
}
