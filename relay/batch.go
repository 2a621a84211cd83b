package relay

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"outboxrelay/relay/feed"
)

// batch is what is new of complete commits, decoded.
type batch struct {
	entries []*entry // the records of an aggregate in the order of their versions
	cursor  Position // of the last document that is not fresh
	// leaves was about to leave memory: what was read of it is older than what is
	// being written. It has to be read again once it has left.
	leaves *entry
}

// decode decodes what is new in docs, which are complete commits together.
func (r *reader) decode(ctx context.Context, docs ...[]Doc) batch {
	n := 0
	for _, some := range docs {
		n += len(some)
	}
	b := batch{entries: make([]*entry, 0, n)}
	for d := range each(docs) {
		if d.Canary() {
			continue
		}
		d, j, leaves := r.outbox.judge(ctx, d, r.intake)
		switch j {
		case feed.Known:
		case feed.Leaving:
			b.leaves = leaves
			return b
		case feed.Unknown, feed.Doubtful:
			b.entries = append(b.entries, r.outbox.newEntry(d, r.intake))
		}
		if p := d.position(); b.cursor.Before(p) && !fresh(d) {
			b.cursor = p
		}
	}
	slices.SortStableFunc(b.entries, byVersion)
	size := int64(0)
	for _, e := range b.entries {
		size += e.Size
	}
	r.intake.ledger.step(feed.Sized{Feed: r.intake.feed, Records: len(b.entries), Bytes: size})
	return b
}

// each goes through the documents of all lists.
func each(lists [][]Doc) iter.Seq[Doc] {
	return func(yield func(Doc) bool) {
		for _, docs := range lists {
			for _, d := range docs {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// sized has the feed learn from documents that are not decoded yet, or will not be,
// how large records are: the next page may be read before the first commit is
// complete.
func (r *reader) sized(docs []Doc) {
	learnt := feed.Sized{Feed: r.intake.feed}
	for _, d := range docs {
		if d.Size > 0 {
			learnt.Records++
			learnt.Bytes += recordOverhead + int64(d.Size)
		}
	}
	r.intake.ledger.step(learnt)
}

// take takes a batch into memory and moves the feed's cursor past what is not fresh
// of it. It blocks while the feed is full. It reports false when the feed was sent
// back: what was not taken will be read again.
func (r *reader) take(ctx context.Context, b batch, generation int, reach feed.Reach) (bool, error) {
	if b.leaves != nil {
		return false, r.waitFor(ctx, b.leaves, b.leaves.Position())
	}
	in := r.intake
	event := feed.Batch{Feed: in.feed, Generation: generation, Records: records(b.entries), UpTo: b.cursor, Reach: reach}
	for {
		taken := in.take(r.outbox, event)
		switch event.Records = event.Records[taken.Records:]; taken.Stopped {
		case feed.StoppedFull:
			if err := in.waitRoom(ctx); err != nil {
				return false, err
			}
		case feed.StoppedSubmit:
		case feed.StoppedLeaving:
			if older := entryOf(taken.Behind); !r.outbox.lingers(older) {
				return false, r.waitFor(ctx, older, event.Records[0].Position())
			}
		default:
			return taken.Stopped == feed.NotStopped, nil
		}
	}
}

func records(entries []*entry) []*feed.Record {
	out := make([]*feed.Record, len(entries))
	for i, e := range entries {
		out[i] = &e.Record
	}
	return out
}

// byVersion orders records so that within each aggregate the versions ascend.
func byVersion(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.rec.AggregateVersion, b.rec.AggregateVersion), a.rec.CreatedAt.Compare(b.rec.CreatedAt))
}
