package relay

import (
	"context"
	"time"
)

// bounded is a Store whose reads end: a call that Firestore or the way there
// swallows would otherwise hold up its reader for ever, and silently.
type bounded struct {
	Store
	bound time.Duration // of one query; a Count may have several
}

// Page implements Store.
func (b bounded) Page(ctx context.Context, s Scan) ([]Doc, error) {
	ctx, cancel := context.WithTimeout(ctx, b.bound)
	defer cancel()
	return b.Store.Page(ctx, s)
}

// Get implements Store.
func (b bounded) Get(ctx context.Context, outbox, id string) (Doc, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, b.bound)
	defer cancel()
	return b.Store.Get(ctx, outbox, id)
}

// Count implements Store.
func (b bounded) Count(ctx context.Context, scans ...Scan) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(scans))*b.bound)
	defer cancel()
	return b.Store.Count(ctx, scans...)
}
