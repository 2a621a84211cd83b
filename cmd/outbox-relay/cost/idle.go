package cost

import (
	"math"

	"outboxrelay/contracts"
)

// Fleet is what runs, whether records come or not.
type Fleet struct {
	Catalog   *contracts.Catalog
	Instances int
	Schedule  Schedule
	// Kept are the documents of each outbox that a sweep counts: those that were
	// delivered and whose retention has not ended.
	Kept map[string]float64
	// Frozen are the aggregates that are frozen: every instance reads them with
	// each sweep.
	Frozen float64
	// Pending is the share of the time in which something is pending in an outbox,
	// from 0 to 1.
	Pending map[string]float64
	// Waiting is in how many states dead letters wait.
	Waiting float64
}

// Canaries are one write and one read each time that a listener is proven alive,
// and one more read when it is replaced: of each instance one listener in turn, and
// all of an outbox in which something is pending. Whether it is, is counted where
// nothing is.
func (f Fleet) Canaries() Operations {
	touch := Operations{Reads: 1, Writes: 1}
	out := touch.every(f.Schedule.Canary).Times(f.owners())
	for _, o := range f.Catalog.Outboxes {
		listeners, counts := float64(listenersOf(o)), float64(max(o.Shards, 1))
		if o.Shards > 1 {
			counts += 2
		}
		pending := f.Pending[o.Name]
		out = out.Plus(touch.Times(pending * listeners).Plus(reads((1 - pending) * counts)).every(f.Schedule.Canary))
		out = out.Plus(touch.Plus(reads(1)).every(f.Schedule.Recycle).Times(listeners))
	}
	return out
}

// listenersOf are the streams that an outbox is watched by.
func listenersOf(o *contracts.Outbox) int {
	n := max(o.Shards, 1) * (len(o.Lanes()) + 1) // one for records without a lane
	if o.Shards > 1 {
		n += 2 // on both sides of the shards
	}
	return n
}

// Documents that one read of a count covers, and documents of an outbox for
// which its sweeps count all of them once less often.
const (
	countedByRead    = 1000
	countedLessEvery = 10_000
)

// Sweeps look for what no listener sees. A query or a count that finds nothing is
// one read.
func (f Fleet) Sweeps() Operations {
	n := 0.0
	for _, o := range f.Catalog.Outboxes {
		shards, lanes := float64(max(o.Shards, 1)), float64(len(o.Lanes()))
		// For each shard: a count of what is in backoff, held or of an odd status, of
		// which there is nothing; while something is pending a page and a count of each
		// lane, whose canary they find, and counts of all and of what has no lane.
		n += shards * (1 + f.Pending[o.Name]*(2*lanes+2))
		if o.Shards > 1 {
			n += 1 + shards // pending: all, and of each shard
		}
		kept := f.Kept[o.Name]
		// All, and all with a status; else null as status.
		each := 1 + math.Floor(kept/countedLessEvery)
		n += (2*max(1, math.Ceil(kept/countedByRead)) + each - 1) / each
	}
	return reads(n).every(f.Schedule.Sweep)
}

// shares is what the instances divide among themselves.
func (f Fleet) shares() float64 { return float64(len(f.Catalog.Shares())) }

// owners are the instances that have a share.
func (f Fleet) owners() float64 { return min(float64(f.Instances), f.shares()) }

// Leases are written by their owners with each renewal, and read by every instance
// once in a term, with a bell that tells of changes: that is read in place of them
// when they are renewed in between, and by a listener, which is replaced now and then.
func (f Fleet) Leases() Operations {
	instances := float64(f.Instances)
	documents := instances + f.shares() + 1 // registrations, shares, and the dead-letter queue's
	return Operations{Writes: documents}.every(f.Schedule.Renew).
		Plus(reads(instances * (documents + 1 + renewals - 1)).every(renewals * f.Schedule.Renew)).
		Plus(reads(instances).every(f.Schedule.Recycle))
}

// Queue is what the dead-letter queue costs while nothing in it is due: every instance
// follows freezes and lane controls, and listens and looks for dead letters of
// each tier that are due, and of SAFE_AUTO for those that somebody asked for; one of them looks for alerts, releases and bulk
// replays, and counts.
func (f Fleet) Queue() Operations {
	instances, lanes := float64(f.Instances), float64(len(f.Catalog.Lanes))
	tiers := float64(len(contracts.Tiers()))
	owners := f.owners()
	listens := math.Ceil(float64(len(f.Catalog.Outboxes)) / outboxesInQuery)
	looks := math.Ceil(f.shares() / owners / outboxesInQuery) // an owner's outboxes, split the same way

	frozen := max(1, f.Frozen)
	all := reads(frozen + lanes).every(f.Schedule.Sweep) // freezes, and a control for each lane
	all = all.Plus(reads(frozen + 1 + lanes).every(f.Schedule.Recycle))
	all = all.Plus(reads((tiers+1)*listens + 3).every(f.Schedule.Quiet)) // alerts, releases, bulk replays
	out := all.Times(instances)
	// What comes next, and of SAFE_AUTO what somebody asked for. A listener that is
	// replaced has it looked for as well, at the moment of a poll.
	look := reads((tiers + 1) * looks * owners)
	out = out.Plus(look.every(f.Schedule.Poll))
	out = out.Plus(reads(3).every(f.Schedule.Poll))
	return out.Plus(reads(openStates + f.Waiting).every(f.Schedule.Gauge)) // how many; of some, the oldest
}
