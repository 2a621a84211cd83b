package workqueue

import (
	"context"
	"errors"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"

	"outboxrelay/dlq/firestore/lastanswer"
)

// ErrLost is the error of a write that was refused, as the document is not claimed
// by this claim any more. Nothing was written.
var ErrLost = errors.New("the claim is lost")

// Claim is a document that one worker has, until its lease ends.
type Claim struct {
	Ref    *firestore.DocumentRef
	Path   string         // relative to the database
	Tenant string         // see Vocabulary.Tenant
	Data   map[string]any // as it was found, before the claim; the handler does not change it
	Token  string         // the claim's own, as Fields.Owner says
	// Attempt is which attempt this is, from 1.
	Attempt int
	// Reclaimed: the document was processing, and its worker did not come back within
	// the lease. What that has done nobody knows, unless the handler can tell.
	Reclaimed bool
	// ClaimedAt is when the server read the document for the claim. The handler takes it for
	// what has to be the same clock for all instances.
	ClaimedAt time.Time
	// Log has the queue, the document and the claim as its fields.
	Log *zap.Logger

	queue   *Queue
	before  state     // as it was found
	counted int       // attempts before this one
	trusted time.Time // until when the lease is, by this instance's clock

	hopeless  error // why no handler can have it; nil: one can
	unclaimed bool  // the claim was not written, as it cannot be: the document is as it was found
}

// Transaction runs f in a transaction, unless the claim is lost: then it returns
// ErrLost and f was not called, or what it wrote is dropped. The document has been read when f is
// called, so that f may read more, and then write. f may be called several times.
func (c *Claim) Transaction(ctx context.Context, f func(ctx context.Context, tx *firestore.Transaction) error) error {
	ctx, last := lastanswer.Keep(ctx)
	return last.Explain(c.queue.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		snaps, err := tx.GetAll([]*firestore.DocumentRef{c.Ref})
		if err != nil {
			return err
		}
		if _, err := c.stands(snaps[0]); err != nil {
			return err
		}
		return f(ctx, tx)
	}))
}
