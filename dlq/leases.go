package dlq

import (
	"context"
	"fmt"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// word is what one document of the leases says: the lease of a share, which stays when its
// owner is gone, or the registration of an instance.
type word struct {
	shares []string
	old    time.Duration // since it was last written, by the server's clock
	term   time.Duration // of the lease
}

// words reads the leases. They tell which outboxes instances with other catalogs relay.
func (q *Queue) words(ctx context.Context) ([]word, error) {
	docs, err := q.store.Query(ctx, Query{Collection: contracts.CollectionLeases})
	if err != nil {
		return nil, fmt.Errorf("read leases, which tell the outboxes of other catalogs: %w", err)
	}
	return wordsOf(docs), nil
}

func wordsOf(docs []Doc) []word {
	words := make([]word, len(docs))
	for i, d := range docs {
		f := reading(d.Fields)
		words[i] = word{
			old:  d.ReadTime.Sub(d.UpdateTime),
			term: time.Duration(f.integer(contracts.LeaseFieldTerm)) * time.Millisecond,
		}
		switch {
		case strings.HasPrefix(d.ID, contracts.InstancePrefix):
			words[i].shares = f.texts(contracts.LeaseFieldShares)
		case f.text(contracts.LeaseFieldKind) == contracts.LeaseKind:
			words[i].shares = []string{d.ID}
		}
	}
	return words
}
