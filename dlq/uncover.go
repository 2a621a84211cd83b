package dlq

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// ActionUncover is the audit's word for a look at a covered payload.
const ActionUncover = "uncover"

// Uncovered is a dead letter with its record, and the audit entry of the look at it.
type Uncovered struct {
	Item  *Item
	Entry *Entry
}

// Covered reports whether the item's payload is kept from everybody until it is
// uncovered: one that was ever under SECURITY_BLOCK may hold what gives rights.
func (i *Item) Covered() bool {
	return i.Tier == contracts.SecurityBlock || i.OriginalTier == contracts.SecurityBlock
}

// Uncover gives out the record of a covered dead letter. The look is an audit
// entry, and there is no look without it: the record comes only when the entry
// is known to stand.
func (q *Queue) Uncover(ctx context.Context, id string, a Actor, reason string) (*Uncovered, error) {
	reason, err := ReasonOf(reason)
	if err != nil {
		return nil, err
	}
	if a.Role < Security {
		return nil, forbidden(a, Security, "to uncover a payload")
	}
	var out *Uncovered
	entryID, at := q.newID(), q.moment()
	_, err = q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		if out != nil { // the answer of its commit may have been lost
			doc, err := q.get(ctx, contracts.CollectionAudit, entryID)
			if err != nil || doc.Exists() {
				return nil, err
			}
		}
		item, err := q.Item(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !item.Covered():
			return nil, &Refusal{Kind: Conflict, Detail: "its payload is not covered", Hint: "look at it: the record is shown to every role"}
		}
		entry := item.entry(entryID, a, ActionUncover, item.State, reason)
		entry.At = at
		out = &Uncovered{item, entry}
		return []Write{entry.Write()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("uncover payload: %w", err)
	}
	q.log.Info("payload uncovered", zap.String("actor", a.Name), zap.String("deadLetter", id), zap.String("traceId", out.Item.TraceID))
	return out, nil
}
