package relay

import (
	"slices"

	"outboxrelay/dlq"
)

// listed is what the aggregate's freeze lists, as far as known: at least dlq.ListedMost, if it
// lists as many.
func (z *freezes) listed(aggregateID string) []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	if f := z.aggregates[aggregateID]; f != nil {
		return f.listed
	}
	return nil
}

// join adds a dead letter to what the freeze lists, as far as that is to be known.
func (f *frozen) join(deadLetter string) {
	if len(f.listed) < dlq.ListedMost && !slices.Contains(f.listed, deadLetter) {
		f.listed = append(slices.Clip(f.listed), deadLetter)
	}
}
