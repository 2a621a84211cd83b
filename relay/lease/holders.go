package lease

import "time"

// Holder says who owns a share, as this instance read it last.
type Holder struct {
	Share string
	Owner string        // an instance; "" means that the share is free
	Since time.Time     // server time of the taking
	Age   time.Duration // since its last renewal
	Term  time.Duration
	Mine  bool   // this instance owns it
	Note  string // of another instance that owns it, at its last renewal; "" before that
	Valid bool   // its owner may begin work on it: judged by the owner itself if Mine, else by its age
}

// Holders tells of every share, by name. It answers on every instance.
func (k *Keeper) Holders() []Holder {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]Holder, len(k.shares))
	for i, share := range k.shares {
		out[i] = k.holder(share)
	}
	return out
}

func (k *Keeper) holder(share string) Holder {
	h := Holder{Share: share}
	if d, seen := k.view.leases[share]; seen {
		h.Owner, h.Since, h.Term = d.owner, d.since, d.term
		h.Age = d.age() + time.Since(k.view.at)
		if h.Valid = d.owner != "" && h.Age < d.term; h.Valid {
			h.Note = d.note
		}
	}
	held := k.held[share]
	if held == nil || held.lost || held.done {
		return h
	}
	return Holder{
		Share: share, Owner: k.name, Since: held.lease.Since(), Term: k.config.Term, Mine: true, Valid: held.lease.Valid(),
		Age: max(validFor(k.config.Term)-time.Until(held.lease.ends()), 0),
	}
}

// Owns reports whether this instance has the share and is not about to give it
// up. A share whose lease has lapsed counts: its Work's memory is kept.
func (k *Keeper) Owns(share string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[share]
	return h != nil && h.told == nil && k.work.Err() == nil
}

// Ready reports whether this instance takes part: it is registered, and was
// renewed in time to be counted on.
func (k *Keeper) Ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.me != nil && k.me.lease.Valid()
}
