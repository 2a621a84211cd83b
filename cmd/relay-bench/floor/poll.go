package floor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"

	"outboxrelay/deploy/local/rig"
)

// pollAgain is the pause after an empty page.
const pollAgain = 200 * time.Millisecond

// poller reads one lane of one outbox page by page: it publishes what a page
// holds, marks all of it in one commit, and reads again from the start of what
// is pending. It holds one page at a time, so it never sees a record twice. Pages
// of other lanes are under way meanwhile.
type poller struct {
	lane
	turns chan struct{} // whose capacity bounds the pages of all lanes under way
}

func (p *poller) run(ctx context.Context, fs *firestore.Client) error {
	query := p.pending(fs)
	for {
		n, err := p.turn(ctx, fs, query)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if !rig.Sleep(ctx, pollAgain) {
			return ctx.Err()
		}
	}
}

// turn relays a page and returns how many records it held.
func (p *poller) turn(ctx context.Context, fs *firestore.Client, query firestore.Query) (int, error) {
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-p.turns }()
	page, err := p.publishPage(ctx, query)
	if err != nil || len(page) == 0 {
		return 0, err
	}
	refs := make([]*firestore.DocumentRef, len(page))
	for i, out := range page {
		if err := out.acked(ctx); err != nil {
			return 0, err
		}
		refs[i] = out.ref
	}
	return len(page), commit(ctx, fs, refs)
}

// publishPage publishes the records of a page as they are read.
func (p *poller) publishPage(ctx context.Context, query firestore.Query) ([]sending, error) {
	page := make([]sending, 0, p.limit)
	docs := query.Documents(ctx)
	defer docs.Stop()
	for {
		doc, err := docs.Next()
		if errors.Is(err, iterator.Done) {
			return page, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read page of %s: %w", p.outbox.Name, err)
		}
		out, err := p.publish(ctx, doc)
		if err != nil {
			return nil, err
		}
		page = append(page, out)
	}
}
