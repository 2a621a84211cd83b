package restore

import (
	"context"
	"fmt"

	"outboxrelay/dlq"
)

// Leftovers are documents beside the records that came back open.
type Leftovers struct {
	Found   int `json:"found"`
	Settled int `json:"settled"`
}

// leftover is one of them, with what settles it and says so in the audit.
type leftover struct {
	doc   dlq.Doc
	write dlq.Write
	entry *dlq.Entry
}

// leftovers finds documents by a query, and has those settled of which judge returns
// how. What is settled leaves the query, so each page begins behind the last ID that was read.
func (r *Restore) leftovers(ctx context.Context, q dlq.Query, settle bool, judge func(dlq.Doc) (leftover, bool)) (of Leftovers, err error) {
	q.OrderBy, q.Limit = []dlq.Order{{Field: dlq.FieldID}}, pageSize
	for {
		page, err := r.Letters.Query(ctx, q)
		if err != nil {
			return of, err
		}
		var found []leftover
		for _, d := range page {
			if l, ok := judge(d); ok {
				found = append(found, l)
			}
		}
		of.Found += len(found)
		for settle && len(found) > 0 {
			n := min(len(found), commitSize)
			settled, err := r.clear(ctx, found[:n])
			of.Settled += settled
			if err != nil {
				return of, err
			}
			found = found[n:]
		}
		if len(page) < pageSize {
			return of, nil
		}
		q.StartAfter = []any{page[len(page)-1].ID}
	}
}

// clear settles documents.
func (r *Restore) clear(ctx context.Context, found []leftover) (settled int, err error) {
	return settleAll(found, func(found []leftover) error {
		var writes []dlq.Write
		for _, l := range found {
			writes = append(writes, l.entry.Write(), l.write)
		}
		_, err := r.Letters.Commit(ctx, writes)
		return err
	}, func(l leftover, refusal error) (int, error) { return r.cleared(ctx, l, refusal) })
}

// cleared reads a document whose settlement was refused: it may be that the answer of
// an earlier commit was lost. The audit tells.
func (r *Restore) cleared(ctx context.Context, l leftover, refusal error) (settled int, err error) {
	docs, err := r.Letters.Get(ctx, l.write.Collection, l.doc.ID)
	if err != nil {
		return 0, err
	}
	if docs[0].UpdateTime.Equal(l.doc.UpdateTime) {
		return 0, fmt.Errorf("settle %s/%s: %w", l.write.Collection, l.doc.ID, refusal)
	}
	entries, err := r.Letters.Get(ctx, l.entry.Write().Collection, l.entry.ID)
	if err != nil || !entries[0].Exists() {
		return 0, err
	}
	return 1, nil
}
