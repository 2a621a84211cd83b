package operator

import (
	"cmp"
	"fmt"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// story tells in a few sentences what happened.
func story(i adminapi.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s of %s (%s, %s)", i.EventType, versionIn(i, " version %d"), i.AggregateID, i.Outbox, i.Lane)
	if i.AggregateVersion == nil {
		b.WriteString(", without a version,")
	}
	b.WriteString(" " + cause(i))
	before, since := failures(i)
	if i.Reason != contracts.Restored { // its last error says just that
		b.WriteString(lastOf(before, ", last at "))
	}
	fmt.Fprintf(&b, ", and is a dead letter since %s. ", moment(i.DeadAt))
	if last := lastOf(since, ", and failed last at "); last != "" {
		verb := "have"
		if i.Replays == 1 {
			verb = "has"
		}
		fmt.Fprintf(&b, "%s %s ended since%s. ", shell.Plural(i.Replays, "replay"), verb, last)
	}
	b.WriteString(outcome(i))
	return b.String()
}

// versionIn puts an item's version into a format; "" where it has none.
func versionIn(i adminapi.Item, format string) string {
	if i.AggregateVersion == nil {
		return ""
	}
	return fmt.Sprintf(format, *i.AggregateVersion)
}

// cause is why it died.
func cause(i adminapi.Item) string {
	attempts := shell.Plural(i.Attempts, "attempt")
	switch i.Reason {
	case contracts.ContractViolation:
		if i.Attempts == 0 { // those that an outage ended are not counted
			return "was found to break its contract, with no attempt counted"
		}
		return "was found to break its contract, after " + attempts
	case contracts.PermanentFailure:
		return "met a failure that counts as permanent"
	case contracts.ClaimsRefreshFailed:
		return "could not refresh the claims in " + attempts
	case contracts.Restored:
		return "was waiting in an export of Firestore, so that nobody knows whether it was delivered"
	}
	return "failed " + attempts
}

// failures are those that it died of, and those of its replays.
func failures(i adminapi.Item) (before, since []adminapi.Attempt) {
	if i.Replays == 0 {
		return i.Errors, nil
	}
	for _, e := range i.Errors {
		if e.Time.After(i.DeadAt) {
			since = append(since, e)
		} else {
			before = append(before, e)
		}
	}
	return before, since
}

// lastOf tells the last of some failures after an introduction; "" where there is none.
func lastOf(all []adminapi.Attempt, introduction string) string {
	if len(all) == 0 {
		return ""
	}
	e := all[len(all)-1]
	return fmt.Sprintf("%s%s (%s)", introduction, cmp.Or(e.Target, "the check"), brief(told(e), 200))
}

// outcome tells how it stands.
func outcome(i adminapi.Item) string {
	switch {
	case i.State == contracts.DeadReplayed:
		return "It was replayed and reached every target."
	case i.State == contracts.DeadDiscarded:
		return "It was given up."
	case i.Replaying != nil:
		return i.Replaying.By + " asked for a replay, which has not ended."
	case i.State == contracts.DeadScheduled:
		return "Its next automatic replay is due at " + moment(i.NextReplayAt) + "."
	case i.State == contracts.DeadBlocked:
		return "Nobody has authorized its replay. Whether its aggregate is frozen, dlq freezes tells."
	case i.State == contracts.DeadAuthorized:
		return "Its replay was authorized by " + i.AuthorizedBy + "."
	case i.State == contracts.DeadAwaitingReview:
		return "It waits for an operator."
	}
	return "It is " + string(i.State) + "."
}

func tierOf(i adminapi.Item) string {
	if i.OriginalTier == "" || i.OriginalTier == i.Tier {
		return string(i.Tier)
	}
	return string(i.Tier) + ", first " + string(i.OriginalTier)
}
