package lease

import (
	"context"
	"fmt"
	"slices"
)

// Live lists the instances, by name, whose registration or lease stands: which
// may be at work at this moment. After an import of documents into Firestore
// those of the export seem to live for one term, as the import is their update.
func Live(ctx context.Context, store Store) ([]string, error) {
	docs, err := store.Query(ctx, allLeases)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	v := newView(docs, DefaultTerm)
	var names []string
	for _, r := range v.instances {
		if r.live() {
			names = append(names, r.instance)
		}
	}
	for _, owner := range v.owners() {
		names = append(names, owner)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
