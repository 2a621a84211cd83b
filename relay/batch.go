package relay

import (
	"context"
	"slices"
	"time"
)

// batch is what is new of complete commits, decoded.
type batch struct {
	entries []*entry // the records of an aggregate in the order of their versions
	cursor  Position // of the last document that is not fresh
	// A record that was about to leave memory: what was read of it is older than
	// what is being written. It has to be read again once left is closed.
	left   <-chan struct{}
	leftAt Position
}

// decode decodes what is new in docs, which are complete commits.
func (r *reader) decode(ctx context.Context, docs []Doc) batch {
	b := batch{entries: make([]*entry, 0, len(docs))}
	for _, d := range docs {
		if isCanary(d) {
			continue
		}
		d, c, left := r.outbox.consider(ctx, d, r.feed)
		switch c {
		case considerKnown:
		case considerWait:
			b.left, b.leftAt = left, d.position()
			return b
		case considerTake, considerDoubt:
			b.entries = append(b.entries, r.outbox.newEntry(d, r.feed))
		}
		if p := d.position(); b.cursor.before(p) && !fresh(d) {
			b.cursor = p
		}
	}
	r.feed.portion.learn(b.entries)
	slices.SortStableFunc(b.entries, byVersion)
	return b
}

// take admits a batch and moves the feed's cursor past what is not fresh of it.
// It blocks while the feed is full. It reports false when the feed was rewound
// underneath: what was not admitted will be read again.
func (r *reader) take(ctx context.Context, b batch, generation int) (bool, error) {
	if b.left != nil {
		select {
		case <-b.left:
			r.feed.rewind(b.leftAt)
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	for _, e := range b.entries {
		if err := r.feed.waitRoom(ctx); err != nil {
			return false, err
		}
		switch r.feed.admit(e, generation) {
		case outdated:
			return false, nil
		case early:
			return false, r.waitFor(ctx, e)
		case admitted:
			r.outbox.submit(e)
		}
	}
	return r.feed.read(b.cursor, generation), nil
}

// waitFor waits until the record has left memory that e must not overtake, and
// sends the feed back to e.
func (r *reader) waitFor(ctx context.Context, e *entry) error {
	for {
		left := r.feed.afterLeaving(e)
		if left == nil {
			r.feed.rewind(e.position())
			return nil
		}
		select {
		case <-left:
		case <-time.After(leavingRecheck): // it may be gone on another way
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leavingRecheck is how often a reader looks whether what it waits for is there
// at all.
const leavingRecheck = time.Second

// byVersion orders records so that within each aggregate the versions ascend.
func byVersion(a, b *entry) int {
	switch {
	case a.rec.AggregateVersion != b.rec.AggregateVersion:
		if a.rec.AggregateVersion < b.rec.AggregateVersion {
			return -1
		}
		return 1
	default:
		return a.rec.CreatedAt.Compare(b.rec.CreatedAt)
	}
}
