package lease

import (
	"cmp"
	"slices"
	"time"
)

// member is an instance that takes part in a plan: it lives and does not stop.
type member struct {
	id    string
	since time.Time
	// shares are those that it can own, beside Queue. Instances with different
	// catalogs, as in a rolling deploy, differ in them.
	shares []string
}

// plan says who should own which share. It depends on nothing else, not even
// on an order, so that every instance computes the same. Owners that are no
// members count for nothing.
//
// Each member's quota is the floor or the ceiling of shares by members. Those
// who own most get the ceiling, owners keep what they have up to their quota,
// and the rest goes to those with the fewest: so no share moves without need.
// Queue comes last: it stays with its owner, or goes to the one with the fewest.
func plan(members []member, owners map[string]string) map[string]string {
	if len(members) == 0 {
		return nil
	}
	p := newPlanning(members, owners)
	p.setQuotas()
	for n := range len(p.seats) {
		p.assign(n+1, owners) // what the fewest can own first, as it has the least choice
	}
	s := p.seatOf(owners[Queue])
	if s == nil {
		s = fewest(p.seats)
	}
	p.out[Queue] = s.id
	return p.out
}

// planning is a plan in the making.
type planning struct {
	seats  []*seat            // by since and ID, so that the first of equals is chosen
	shares []string           // by name
	able   map[string][]*seat // who can own a share
	out    map[string]string
}

// seat is one member's part of it.
type seat struct {
	member
	owned, quota, planned int
}

func newPlanning(members []member, owners map[string]string) *planning {
	p := &planning{able: make(map[string][]*seat), out: make(map[string]string)}
	for _, m := range members {
		p.seats = append(p.seats, &seat{member: m})
	}
	slices.SortFunc(p.seats, func(a, b *seat) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	for _, s := range p.seats {
		for _, share := range s.shares {
			if p.able[share] == nil {
				p.shares = append(p.shares, share)
			}
			p.able[share] = append(p.able[share], s)
			if owners[share] == s.id {
				s.owned++
			}
		}
	}
	slices.Sort(p.shares)
	return p
}

func (p *planning) setQuotas() {
	byOwned := slices.Clone(p.seats)
	slices.SortStableFunc(byOwned, func(a, b *seat) int { return cmp.Compare(b.owned, a.owned) })
	for i, s := range byOwned {
		s.quota = len(p.shares) / len(p.seats)
		if i < len(p.shares)%len(p.seats) {
			s.quota++
		}
	}
}

// assign plans the shares that n members can own.
func (p *planning) assign(n int, owners map[string]string) {
	give := func(share string, to *seat) {
		to.planned++
		p.out[share] = to.id
	}
	var rest []string
	for _, share := range p.shares {
		owner := p.seatOf(owners[share])
		switch {
		case len(p.able[share]) != n:
		case owner != nil && slices.Contains(p.able[share], owner) && owner.planned < owner.quota:
			give(share, owner)
		default:
			rest = append(rest, share)
		}
	}
	for _, share := range rest {
		give(share, fewest(p.able[share]))
	}
}

// seatOf is nil for who is no member.
func (p *planning) seatOf(id string) *seat {
	for _, s := range p.seats {
		if s.id == id {
			return s
		}
	}
	return nil
}

func fewest(seats []*seat) *seat {
	return slices.MinFunc(seats, func(a, b *seat) int { return cmp.Compare(a.planned, b.planned) })
}
