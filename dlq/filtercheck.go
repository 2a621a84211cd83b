package dlq

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"outboxrelay/contracts"
)

// check refuses values that nothing can have, all of them at once. An outbox or
// an event type that the catalog does not know (any more) is fine: its dead
// letters may still be there.
func (f Filter) check() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if f.Tier != "" && !f.Tier.Valid() {
		fault("tier %q is none of %v", f.Tier, contracts.Tiers())
	}
	if f.State != "" && !slices.Contains(States(), f.State) {
		fault("state %q is none of %v", f.State, States())
	}
	if f.Lane != "" && !slices.Contains(contracts.Lanes(), f.Lane) {
		fault("lane %q is none of %v", f.Lane, contracts.Lanes())
	}
	if f.Reason != "" && !slices.Contains(contracts.Reasons(), f.Reason) {
		fault("reason %q is none of %v", f.Reason, contracts.Reasons())
	}
	if f.State != "" && f.Open != nil && slices.Contains(States(), f.State) && Open(f.State) != *f.Open {
		fault("state %s and open %t exclude each other", f.State, *f.Open)
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		fault("from %s is not before to %s", clock(f.From), clock(f.To))
	}
	for _, c := range itemConditions {
		if text, ok := c.want(f).(string); ok {
			faults = append(faults, TextFaults(c.field, text)...)
		}
	}
	return refuseFilter(faults)
}

// maxCompared is how long a text may be that Firestore compares with a field: it counts
// one byte more.
const maxCompared = 1499

// TextFaults says what is wrong with a text to compare a field with, which name
// tells; empty: nothing.
func TextFaults(name, text string) []string {
	switch {
	case len(text) > maxCompared:
		return []string{fmt.Sprintf("%s has %d bytes, more than %d", name, len(text), maxCompared)}
	case !utf8.ValidString(text):
		return []string{name + " is not text in UTF-8"}
	}
	return nil
}

func refuseFilter(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return &Refusal{Kind: Invalid, Detail: "the filter makes no sense: " + strings.Join(faults, "; ")}
}

// States lists the states of dead letters.
func States() []contracts.DeadState {
	return []contracts.DeadState{
		contracts.DeadScheduled, contracts.DeadAwaitingReview, contracts.DeadBlocked, contracts.DeadAuthorized, contracts.DeadReplayed, contracts.DeadDiscarded,
	}
}
