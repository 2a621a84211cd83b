package operator

import (
	"fmt"
	"slices"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/notifications"
)

// Words that a flag or an argument takes from a list. Any other is told before the service is
// asked.
type (
	tier       contracts.Tier
	state      contracts.DeadState
	lane       contracts.Lane
	deadReason contracts.Reason
	aboutKind  dlq.Subject
	queue      string
)

// UnmarshalText reads a tier.
func (t *tier) UnmarshalText(text []byte) error { return choose(t, text, contracts.Tiers()) }

// UnmarshalText reads the state of a dead letter.
func (s *state) UnmarshalText(text []byte) error { return choose(s, text, dlq.States()) }

// UnmarshalText reads a lane.
func (l *lane) UnmarshalText(text []byte) error { return choose(l, text, contracts.Lanes()) }

// UnmarshalText reads why a record is a dead letter.
func (r *deadReason) UnmarshalText(text []byte) error { return choose(r, text, contracts.Reasons()) }

// UnmarshalText reads the kind of thing that a decision is about.
func (k *aboutKind) UnmarshalText(text []byte) error { return choose(k, text, dlq.Subjects()) }

// UnmarshalText reads the name of a work queue.
func (q *queue) UnmarshalText(text []byte) error {
	return choose(q, text, []string{"jobs", notifications.Queue})
}

func choose[T, V ~string](to *T, text []byte, all []V) error {
	if len(text) == 0 {
		return nil // which the parser refuses
	}
	if !slices.Contains(all, V(text)) {
		names := make([]string, len(all))
		for i, one := range all {
			names[i] = string(one)
		}
		return fmt.Errorf("%q is none of %s", text, strings.Join(names, ", "))
	}
	return once(to, text)
}

// once sets a value that is given once. Of two the last alone would count, where both may be meant.
func once[T ~string](to *T, text []byte) error {
	if *to != "" {
		return fmt.Errorf("it is given twice, as %q and as %q, and takes one value", *to, text)
	}
	*to = T(text)
	return nil
}
