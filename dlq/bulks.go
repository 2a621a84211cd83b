package dlq

import (
	"context"
	"fmt"

	"outboxrelay/contracts"
)

// Bulk reads a bulk replay. Its numbers are a second old at most while it runs.
func (q *Queue) Bulk(ctx context.Context, id string) (*Bulk, error) {
	doc, err := q.get(ctx, contracts.CollectionReplays, id)
	if err != nil {
		return nil, fmt.Errorf("read bulk replay: %w", err)
	}
	if !doc.Exists() {
		return nil, &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no bulk replay %q", id), Hint: "list the bulk replays to find its ID"}
	}
	return decodeBulk(doc), nil
}

// latestBulk is the order of the list of bulk replays.
var latestBulk = []Order{{bulkCreatedAt, true}, {FieldID, true}}

// Bulks reads one page of the bulk replays, the latest first.
func (q *Queue) Bulks(ctx context.Context, p Page) (Paged[*Bulk], error) {
	query := Query{Collection: contracts.CollectionReplays, OrderBy: latestBulk}
	return page(ctx, q, "bulk replays", query, nil, p, decodeBulk)
}
