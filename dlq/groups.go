package dlq

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

// GroupCount is a group with its dead letters counted.
type GroupCount struct {
	Group
	Count     int64
	FirstSeen time.Time
	LastSeen  time.Time
}

const (
	// groupsAtOnce bounds the queries under way for one page of groups.
	groupsAtOnce = 8
	// maxGroupsScanned is how many groups one call looks at, for those that have
	// a dead letter that is asked for.
	maxGroupsScanned = 1000
)

// Groups counts dead letters by group, for those that f selects; only the open
// ones unless f speaks of State or Open. Groups without any are left out, so a
// page may be short, and even empty, before the last one. Within a page the
// most numerous group is first.
func (q *Queue) Groups(ctx context.Context, f Filter, p Page) (Paged[GroupCount], error) {
	if err := f.check(); err != nil {
		return Paged[GroupCount]{}, err
	}
	if f.State == "" && f.Open == nil {
		f.Open = new(true)
	}
	if f.Group != "" {
		return q.oneGroup(ctx, f)
	}
	query := Query{Collection: contracts.CollectionGroups, OrderBy: []Order{{FieldID, false}}}
	if f.EventType != "" {
		query.Where = []Where{{contracts.FieldEventType, "==", f.EventType}}
	}
	for scanned := 0; ; {
		groups, err := page(ctx, q, "groups", query, f.anytime(), p, DecodeGroup)
		if err != nil {
			return Paged[GroupCount]{}, err
		}
		counted, err := q.countGroups(ctx, f, groups.Items)
		if err != nil {
			return Paged[GroupCount]{}, err
		}
		scanned += len(groups.Items)
		if len(counted) > 0 || groups.Next == "" || scanned >= maxGroupsScanned {
			return Paged[GroupCount]{Items: counted, Next: groups.Next}, nil
		}
		p.Token = groups.Next
	}
}

// oneGroup is the list of the one group that f asks for.
func (q *Queue) oneGroup(ctx context.Context, f Filter) (Paged[GroupCount], error) {
	doc, err := q.get(ctx, contracts.CollectionGroups, f.Group)
	if err != nil {
		return Paged[GroupCount]{}, fmt.Errorf("read group: %w", err)
	}
	if !doc.Exists() {
		return Paged[GroupCount]{Items: []GroupCount{}}, nil
	}
	counted, err := q.countGroups(ctx, f, []Group{DecodeGroup(doc)})
	return Paged[GroupCount]{Items: counted}, err
}

// countGroups counts the dead letters of each group and leaves out those
// without any.
func (q *Queue) countGroups(ctx context.Context, f Filter, groups []Group) ([]GroupCount, error) {
	counts := make([]GroupCount, len(groups))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(groupsAtOnce)
	for n, group := range groups {
		g.Go(func() (err error) {
			counts[n], err = q.countGroup(ctx, f, group)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("count dead letters of groups: %w", err)
	}
	counts = slices.DeleteFunc(counts, func(c GroupCount) bool { return c.Count == 0 })
	slices.SortFunc(counts, func(a, b GroupCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
	return counts, nil
}

func (q *Queue) countGroup(ctx context.Context, f Filter, group Group) (GroupCount, error) {
	f.Group = group.ID
	out := GroupCount{Group: group}
	query := groupQuery(f, latestDead)
	var err error
	if out.Count, err = q.store.Count(ctx, query); err != nil || out.Count == 0 {
		return out, err
	}
	if out.LastSeen, err = q.firstOf(ctx, query); err != nil || out.Count == 1 {
		out.FirstSeen = out.LastSeen
		return out, err
	}
	out.FirstSeen, err = q.firstOf(ctx, groupQuery(f, oldestDead))
	return out, err
}

func groupQuery(f Filter, order []Order) Query {
	return Query{Collection: contracts.CollectionDeadLetters, Where: f.where(), OrderBy: order}
}

// firstOf is when the first dead letter of a query died; zero when there is
// none any more.
func (q *Queue) firstOf(ctx context.Context, query Query) (time.Time, error) {
	query.Select, query.Limit = []string{contracts.DeadFieldDeadAt}, 1
	docs, err := q.store.Query(ctx, query)
	if err != nil || len(docs) == 0 {
		return time.Time{}, err
	}
	return reading(docs[0].Fields).time(contracts.DeadFieldDeadAt), nil
}
