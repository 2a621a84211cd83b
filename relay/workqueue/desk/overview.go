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
	// countsAtOnce is how many counts of a queue run at the same time.
	countsAtOnce = 6
)

// Overviews tells of every queue, in the order of their names.
func (d *Desk) Overviews(ctx context.Context) ([]Overview, error) {
	out := make([]Overview, len(d.views))
	g, ctx := errgroup.WithContext(ctx)
	for n := range d.views {
		v, o := &d.views[n], &out[n]
		*o = Overview{Queue: v.Vocabulary.Queue, Collection: v.Vocabulary.Collection, Statuses: make([]StatusCount, len(v.Statuses)), At: d.now().UTC()}
		for k, s := range v.Statuses {
			o.Statuses[k] = StatusCount{Status: s.Name, Open: s.Open, Requeues: s.Requeues}
		}
		g.Go(func() error { return d.count(ctx, v, o) })
		g.Go(func() (err error) { o.Oldest, o.At, err = d.oldest(ctx, v, o.At); return err })
	}
	return out, g.Wait()
}

// count counts at one moment: a document that changes its status between two counts would else
// seem to have none.
func (d *Desk) count(ctx context.Context, v *View, o *Overview) error {
	err := d.client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
		all, status := d.documents(v), v.Vocabulary.Fields.Status
		g, each := errgroup.WithContext(ctx)
		g.SetLimit(countsAtOnce)
		for k := range o.Statuses {
			s := &o.Statuses[k]
			g.Go(func() (err error) {
				s.Count, s.AtLeast, err = count(each, tx, all.Where(status, "==", s.Status), MaxCount)
				return err
			})
		}
		g.Go(func() (err error) {
			o.Other, o.OtherAtLeast, err = count(each, tx, all.Where(status, "not-in", v.names()), MaxCount)
			return err
		})
		if err := g.Wait(); err != nil {
			return err
		}
		return o.countWithout(ctx, tx, all)
	}, firestore.ReadOnly)
	if err != nil {
		return fmt.Errorf("count documents of queue %s: %w", o.Queue, err)
	}
	return nil
}

// countWithout adds those that have no status, which no query finds: they are what is left
// of all. Where one of the other counts stopped, nobody knows what is left.
func (o *Overview) countWithout(ctx context.Context, tx *firestore.Transaction, all firestore.Query) error {
	told := o.Other
	for _, s := range o.Statuses {
		told += s.Count
		o.OtherAtLeast = o.OtherAtLeast || s.AtLeast
	}
	if o.OtherAtLeast {
		return nil
	}
	n, stopped, err := count(ctx, tx, all, int(told)+MaxCount)
	o.Other, o.OtherAtLeast = o.Other+n-told, stopped
	return err
}

// count counts so many at most; stopped says that there may be more.
func count(ctx context.Context, tx *firestore.Transaction, query firestore.Query, most int) (n int64, stopped bool, err error) {
	const alias = "n"
	query = query.Limit(most)
	result, err := query.NewAggregationQuery().WithCount(alias).Transaction(tx).Get(ctx)
	if err != nil {
		return 0, false, err
	}
	if value, ok := result[alias].(*firestorepb.Value); ok {
		n = value.GetIntegerValue()
	}
	return n, n >= int64(most), nil
}

// oldest returns when the oldest pending document was created, zero for none, and when
// the server read that. What was created at no time, such as null, has no age.
func (d *Desk) oldest(ctx context.Context, v *View, now time.Time) (created, at time.Time, err error) {
	fields := &v.Vocabulary.Fields
	docs, err := d.documents(v).Where(fields.Status, "==", v.Vocabulary.Pending).Where(fields.CreatedAt, ">", time.Time{}).OrderBy(fields.CreatedAt, firestore.Asc).
		Select(fields.CreatedAt).Limit(1).Documents(ctx).GetAll()
	if err != nil {
		return created, now, fmt.Errorf("find the oldest of %s: %w", v.Vocabulary.Queue, err)
	}
	for _, doc := range docs {
		created, _ = doc.Data()[fields.CreatedAt].(time.Time)
		now = doc.ReadTime
	}
	return created, now, nil
}
