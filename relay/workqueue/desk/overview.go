package desk

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
)

const (
	// MaxCount is how far documents of one status are counted. A thousand cost a read.
	MaxCount = 100_000
	// countsAtOnce is how many counts run at the same time.
	countsAtOnce = 6
)

// Overviews tells of every queue, in the order of their names.
func (d *Desk) Overviews(ctx context.Context) ([]Overview, error) {
	out := make([]Overview, len(d.views))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(countsAtOnce)
	for n := range d.views {
		v, o := &d.views[n], &out[n]
		*o = Overview{Queue: v.Vocabulary.Queue, Collection: v.Vocabulary.Collection, Statuses: make([]StatusCount, len(v.Statuses)), At: d.now().UTC()}
		for k, s := range v.Statuses {
			o.Statuses[k] = StatusCount{Status: s.Name, Open: s.Open, Requeues: s.Requeues}
			g.Go(func() error { return d.count(ctx, v, &o.Statuses[k]) })
		}
		g.Go(func() (err error) { o.Oldest, o.At, err = d.oldest(ctx, v, o.At); return err })
	}
	return out, g.Wait()
}

func (d *Desk) count(ctx context.Context, v *View, s *StatusCount) error {
	const alias = "n"
	query := d.documents(v).Where(v.Vocabulary.Fields.Status, "==", s.Status).Limit(MaxCount)
	result, err := query.NewAggregationQuery().WithCount(alias).Get(ctx)
	if err != nil {
		return fmt.Errorf("count %s %s: %w", s.Status, v.Vocabulary.Queue, err)
	}
	if value, ok := result[alias].(*firestorepb.Value); ok {
		s.Count = value.GetIntegerValue()
	}
	s.AtLeast = s.Count >= MaxCount
	return nil
}

// oldest returns when the oldest pending document was created, zero for none, and when
// the server read that.
func (d *Desk) oldest(ctx context.Context, v *View, now time.Time) (created, at time.Time, err error) {
	fields := &v.Vocabulary.Fields
	docs, err := d.documents(v).Where(fields.Status, "==", v.Vocabulary.Pending).OrderBy(fields.CreatedAt, firestore.Asc).
		Select(fields.CreatedAt).Limit(1).Documents(ctx).GetAll()
	if err != nil {
		return created, now, fmt.Errorf("find the oldest of %s: %w", v.Vocabulary.Queue, err)
	}
	for _, doc := range docs {
		created, _ = doc.Data()[fields.CreatedAt].(time.Time) // what is no time has no age
		now = doc.ReadTime
	}
	return created, now, nil
}
