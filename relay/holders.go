package relay

import (
	"encoding/json"

	"outboxrelay/relay/lease"
)

// LeaseState is how the lease of an outbox stands.
type LeaseState string

// The states of a lease.
const (
	LeaseHeld    LeaseState = "held"    // its owner renews it
	LeaseLapsed  LeaseState = "lapsed"  // ours, not renewed in time: deliveries wait until it is, or is lost
	LeaseExpired LeaseState = "expired" // its owner has not renewed it for its term: to be taken
	LeaseFree    LeaseState = "free"    // released or never taken: to be taken
)

// outboxHealth tells how every outbox does, those of other instances by their
// leases, and who leads.
func (r *Relay) outboxHealth() (all []OutboxHealth, queueOwner string) {
	holders := make(map[string]lease.Holder)
	for _, h := range r.owners.Holders() {
		holders[h.Share] = h
	}
	for _, share := range r.catalog.Shares() {
		oh := OutboxHealth{Pending: -1, Retrying: -1}
		o := r.shares.of(share)
		if o != nil {
			oh = o.healthNow()
		}
		oh.Outbox, oh.Shard, oh.Shards = share.Outbox, share.Shard, share.Of
		if r.shared {
			by := holders[share.String()]
			if o == nil {
				oh.noted(by.Note)
			}
			oh.leased(by)
		}
		all = append(all, oh)
	}
	return all, holders[lease.Queue].Owner
}

// note is what the other instances are told of a share's health.
type note struct {
	Healthy    bool  `json:"healthy"`
	InMemory   int   `json:"inMemory"`
	LeftBehind int   `json:"leftBehind"`
	Pending    int64 `json:"pending"`
	Retrying   int64 `json:"retrying"`
	Unattended int64 `json:"unattended"`
}

func (r *Relay) note(share string) string {
	for _, o := range r.shares.list() {
		if o.share.String() == share {
			h := o.healthNow()
			text, _ := json.Marshal(note{h.Healthy, h.InMemory, h.LeftBehind, h.Pending, h.Retrying, h.Unattended}) // it cannot fail
			return string(text)
		}
	}
	return ""
}

// noted takes in what the owner told. It tells nothing before its first
// renewal, and a release that knows more or less is no reason to call it sick.
func (h *OutboxHealth) noted(text string) {
	told := note{Healthy: true, Pending: h.Pending, Retrying: h.Retrying}
	_ = json.Unmarshal([]byte(text), &told)
	h.Healthy, h.InMemory, h.LeftBehind, h.Pending = told.Healthy, told.InMemory, told.LeftBehind, told.Pending
	h.Retrying, h.Unattended = told.Retrying, told.Unattended
}

func (h *OutboxHealth) leased(by lease.Holder) {
	h.Owner, h.Lease = by.Owner, leaseState(by)
	if by.Owner != "" && !by.Since.IsZero() {
		h.Since = &by.Since
	}
	h.Healthy = h.Healthy && h.Lease == LeaseHeld
}

func leaseState(by lease.Holder) LeaseState {
	switch {
	case by.Owner == "":
		return LeaseFree
	case by.Mine && !by.Valid:
		return LeaseLapsed
	case !by.Mine && by.Age > by.Term:
		return LeaseExpired
	}
	return LeaseHeld
}
