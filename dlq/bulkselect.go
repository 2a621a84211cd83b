package dlq

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// Why a selection leaves a match out, in words.
const (
	leftBlocked   = "SECURITY_BLOCK: each of these is decided by itself"
	leftReplaying = "being replayed already"
	leftClosed    = "closed"
)

// Select finds the dead letters that a bulk replay with that filter would take
// now, without taking them. It takes open ones alone. Filters that match more
// than MaxSelection are refused.
func (q *Queue) Select(ctx context.Context, f Filter) (*Selection, error) {
	if f.Open != nil && !*f.Open {
		return nil, &Refusal{Kind: Invalid, Detail: "closed dead letters cannot be replayed", Hint: "leave out open, or set it to true"}
	}
	open := true
	f.Open = &open
	s := &Selection{Refused: make(map[string]int)}
	seen := 0
	for p := (Page{Limit: MaxPage}); ; {
		found, err := q.List(ctx, f, p)
		if err != nil {
			return nil, fmt.Errorf("select dead letters: %w", err)
		}
		if seen += len(found.Items); seen > MaxSelection {
			return nil, &Refusal{
				Kind: Invalid, Detail: fmt.Sprintf("the filter matches more than %d dead letters", MaxSelection),
				Hint: "narrow the filter, by outbox, event type or time for instance",
			}
		}
		for _, i := range found.Items {
			s.add(i)
		}
		if p.Token = found.Next; p.Token == "" {
			break
		}
	}
	slices.SortFunc(s.Items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Outbox, b.Outbox), cmp.Compare(a.AggregateID, b.AggregateID),
			cmp.Compare(a.AggregateVersion, b.AggregateVersion), cmp.Compare(a.ID, b.ID))
	})
	return s, nil
}

func (s *Selection) add(i *Item) {
	i.Record = nil
	switch {
	case i.Tier == contracts.SecurityBlock:
		s.Refused[leftBlocked]++
	case i.Replaying != nil:
		s.Refused[leftReplaying]++
	case !Open(i.State):
		s.Refused[leftClosed]++
	default:
		s.Items = append(s.Items, i)
	}
}
