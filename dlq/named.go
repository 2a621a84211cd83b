package dlq

import (
	"context"
	"fmt"
	"slices"

	"outboxrelay/contracts"
)

// namedAtOnce is how many dead letters one call reads whole: each may be as large
// as a document can be.
const namedAtOnce = 20

// Named reads the dead letters of these IDs, in their order and without their
// records. Those that are gone are left out, and one that is named twice comes once. It takes at most MaxPage IDs.
func (q *Queue) Named(ctx context.Context, ids []string) ([]*Item, error) {
	if len(ids) > MaxPage {
		return nil, &Refusal{Kind: Invalid, Detail: fmt.Sprintf("%d IDs are more than %d", len(ids), MaxPage), Hint: "ask for fewer at once"}
	}
	named := make(map[string]bool, len(ids)) // Firestore refuses to read one twice
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := named[id]
		named[id] = true
		return again || !contracts.IsDocumentID(id)
	})
	items := make([]*Item, 0, len(ids))
	for some := range slices.Chunk(ids, namedAtOnce) {
		docs, err := q.store.Get(ctx, contracts.CollectionDeadLetters, some...)
		if err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		for _, d := range docs {
			if d.Exists() {
				delete(d.Fields, contracts.DeadFieldRecord)
				items = append(items, DecodeItem(d))
			}
		}
	}
	return items, nil
}
