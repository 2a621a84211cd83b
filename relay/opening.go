package relay

import (
	"context"
	"errors"
	"time"

	"outboxrelay/relay/feed"
)

// errBacklog means that so much was left out that pages have to bring it, which is
// no failure.
var errBacklog = errors.New("more was left out than a window holds")

// mostDoubts is how often at most the stream of a listener is completed after it was
// opened. Producers at work at the same time may commit in another order than
// their createdAt tells, so that a busy lane could seem incomplete for ever.
const mostDoubts = 3

// whole adds to docs, which a stream told that was opened lately, by the relay or once
// more by Firestore's client, the pending records behind the feed's cursor that it left
// out of a window that starts at from. doubt is how many more times that is to be done;
// it returns how many then remain.
//
// A first snapshot is the whole window, Firestore promises. Its emulator tells of
// what is committed while it opens a stream before it tells of what was there (3
// of 100 runs that append meanwhile, on two busy cores): the youngest records of
// an aggregate first. So until the stream has left out nothing, what is read
// after it told of something new decides: whoever appended that had seen the
// older ones committed. That is one page for most streams, of fresh records.
//
// An error is errBacklog, or the store's.
func (r *reader) whole(ctx context.Context, from Position, docs []Doc, doubt int) (all []Doc, remaining int, err error) {
	told := make(map[string]bool, len(docs))
	var youngest time.Time // createdAt of those that are new
	for _, d := range docs {
		told[d.ID] = true
		if j, _ := r.outbox.ledger.judge(d, nil); j != feed.Known && !d.Canary() && d.CreatedAt.After(youngest) {
			youngest = d.CreatedAt
		}
	}
	if youngest.IsZero() {
		return docs, doubt, nil
	}
	cursor, _ := r.intake.start()
	after := Position{At: cursor.At}
	if after.Before(from) { // the commit at the cursor is none of the window
		after = from
	}
	for left := r.window; left > 0; {
		page, full, err := r.page(ctx, after)
		if err != nil {
			return docs, doubt, err
		}
		left -= len(page)
		for _, d := range page {
			if told[d.ID] || full && d.CreatedAt.After(youngest) { // the page's edge may cut through its commit
				continue
			}
			if j, _ := r.outbox.ledger.judge(d, nil); j != feed.Known && !d.Canary() && !d.CreatedAt.After(youngest) {
				remaining = doubt - 1
			}
			docs = append(docs, d)
		}
		if !full {
			return docs, remaining, nil
		}
		if after = page[len(page)-1].position(); after.At.After(youngest) {
			return docs, remaining, nil
		}
	}
	return docs, doubt, errBacklog
}
