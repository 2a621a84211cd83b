package dlq

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// Selection is what a bulk replay takes, in the order in which it does.
type Selection struct {
	Items []*Item // without record
	// Refused counts the matches that it does not take, by the reason in words:
	// closed ones, SECURITY_BLOCK, ...
	Refused map[string]int
	// Pin stands for exactly these items as they are. A request that carries it is
	// refused when the same selection finds anything else; see BulkRequest.
	Pin string
}

// MaxSelection is the number of items that one bulk replay takes at most.
const MaxSelection = 10_000

// MaxPicked is the number of dead letters that can be told one by one.
const MaxPicked = 200

// Why a selection leaves a match out, in words.
const (
	leftBlocked   = "SECURITY_BLOCK: each of these is decided by itself"
	leftReplaying = "being replayed already"
	leftClosed    = "closed"
	leftGone      = "gone: there is no dead letter of that ID"
)

// Select finds the dead letters that a bulk replay with that filter, or of those
// IDs, would take now, without taking them. It takes open ones alone. Filters that
// match more than MaxSelection are refused, and more than MaxPicked IDs.
func (q *Queue) Select(ctx context.Context, f Filter, ids ...string) (*Selection, error) {
	s := &Selection{Refused: make(map[string]int)}
	find := q.selectMatches
	if len(ids) > 0 {
		find = func(ctx context.Context, f Filter, s *Selection) error { return q.selectPicked(ctx, f, ids, s) }
	}
	if err := find(ctx, f, s); err != nil {
		return nil, err
	}
	slices.SortFunc(s.Items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.Outbox, b.Outbox), cmp.Compare(a.AggregateID, b.AggregateID),
			cmp.Compare(a.AggregateVersion, b.AggregateVersion), cmp.Compare(a.ID, b.ID))
	})
	s.Pin = pinText(s.Items)
	return s, nil
}

func (q *Queue) selectMatches(ctx context.Context, f Filter, s *Selection) error {
	if f.Open != nil && !*f.Open {
		return &Refusal{Kind: Invalid, Detail: "closed dead letters cannot be replayed", Hint: "leave out open, or set it to true"}
	}
	open := true
	f.Open = &open
	seen := 0
	for p := (Page{Limit: MaxPage}); ; {
		found, err := q.List(ctx, f, p)
		if err != nil {
			return fmt.Errorf("select dead letters: %w", err)
		}
		if seen += len(found.Items); seen > MaxSelection {
			return &Refusal{
				Kind: Invalid, Detail: fmt.Sprintf("the filter matches more than %d dead letters", MaxSelection),
				Hint: "narrow the filter, by outbox, event type or time for instance",
			}
		}
		for _, i := range found.Items {
			s.add(i)
		}
		if p.Token = found.Next; p.Token == "" {
			return nil
		}
	}
}

func (q *Queue) selectPicked(ctx context.Context, f Filter, ids []string, s *Selection) error {
	if f != (Filter{}) {
		return &Refusal{Kind: Invalid, Detail: "a bulk replay takes a filter or IDs, not both", Hint: "leave one of them out"}
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > MaxPicked {
		return &Refusal{Kind: Invalid, Detail: fmt.Sprintf("%d dead letters are more than the %d that can be picked one by one", len(ids), MaxPicked), Hint: "select them by a filter"}
	}
	possible := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !contracts.IsDocumentID(id) })
	if gone := len(ids) - len(possible); gone > 0 {
		s.Refused[leftGone] = gone
	}
	items, err := q.partly(ctx, withoutRecord, possible)
	if err != nil {
		return fmt.Errorf("read picked dead letters: %w", err)
	}
	for _, id := range possible {
		if i := items[id]; i != nil {
			s.add(i)
		} else {
			s.Refused[leftGone]++
		}
	}
	return nil
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
