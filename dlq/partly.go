package dlq

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// partlyAtOnce is how many queries read parts of dead letters at the same time.
const partlyAtOnce = 4

// partly reads these fields alone of the dead letters of these IDs, by ID. Those
// that are gone are missing. A whole one may be as large as a document can be.
func (q *Queue) partly(ctx context.Context, fields, ids []string) (map[string]*Item, error) {
	var mu sync.Mutex
	out := make(map[string]*Item, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(partlyAtOnce)
	for some := range slices.Chunk(ids, maxIn) {
		g.Go(func() error {
			return guarded(func() error {
				docs, err := q.store.Query(ctx, Query{
					Collection: contracts.CollectionDeadLetters, Where: []Where{{FieldID, "in", some}}, Select: fields, Limit: len(some),
				})
				mu.Lock()
				defer mu.Unlock()
				for _, d := range docs {
					out[d.ID] = DecodeItem(d)
				}
				return err
			})
		})
	}
	return out, g.Wait()
}
