package lease

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Instance is a registration, as somebody sees it who takes no part.
type Instance struct {
	Name, Revision string
	Since          time.Time     // server time of the registration
	Age            time.Duration // since its last renewal, by the server's clock
	Term           time.Duration
	Live           bool // it was renewed within its term
	Stopping       bool
	Shares         []string // what it can own, sorted
}

// Survey reads who runs and who owns what, for somebody who takes no part: no
// instance is asked, and nothing is written. Holders has the shares that some
// instance ever owned, and both lists are sorted by name.
func Survey(ctx context.Context, store Store) (instances []Instance, holders []Holder, err error) {
	docs, err := store.Query(ctx, allLeases)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range docs {
		if d.ID == bellID {
			continue
		}
		if isRegistration(d.ID) {
			r := decodeRegistration(d, DefaultTerm)
			instances = append(instances, Instance{
				Name: r.instance, Revision: text(d, fieldRevision), Since: r.since, Age: r.age(), Term: r.term,
				Live: r.live(), Stopping: r.stopping, Shares: r.shares,
			})
			continue
		}
		l := decodeLease(d, DefaultTerm)
		holders = append(holders, Holder{
			Share: l.share, Owner: l.owner, Since: l.since, Age: l.age(), Term: l.term, Note: l.note, Valid: !l.free(),
		})
	}
	slices.SortFunc(instances, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(holders, func(a, b Holder) int { return cmp.Compare(a.Share, b.Share) })
	return instances, holders, nil
}
