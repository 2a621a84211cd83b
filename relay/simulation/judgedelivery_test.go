package simulation

import (
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// toleratedOutages is relay.Tuning's OutageTolerance.
const toleratedOutages = 10

// exhausted reports whether a record failed often enough to be dead-lettered.
func (j *judge) exhausted(r *record) bool {
	return r.failures-r.endured+max(0, r.outages-toleratedOutages) >= j.world.catalog.Retry.MaxAttempts
}

// poisoned returns how a record fails at a target by itself.
func (j *judge) poisoned(path, target string) poisonKind {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.records[path]
	if r == nil || r.Poison.Kind == wholesome || r.Poison.Target != "" && r.Poison.Target != target || r.own[target] >= r.Poison.Times {
		return wholesome
	}
	return r.Poison.Kind
}

// seenOut is how many calls in a row, of how many aggregates, have to fail at a
// target before it has to be seen to be out.
const seenOut, seenOutAggregates = 5, 3

// failedAt follows a delivery that failed: for the record's own sake, or for the
// target's. What the target refuses as the record's own fault is an answer of it.
func (j *judge) failedAt(x *wire, target string, failing *contracts.Record, f *contracts.Failure, own bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	path := failing.Path()
	r := j.records[path]
	if r == nil {
		return
	}
	j.noteLocked(x.who, "failed", path, fmt.Sprintf("%s: %s %s", target, f.Kind, f.Code))
	key := x.who + target
	calls := j.calls[key]
	switch {
	case own:
		r.own[target]++
		r.failures++
	case f.Kind == contracts.Outage:
		r.outages++
		r.failures++ // it counts once the target answers others
	default:
		r.failures++
		aggregates := make(map[string]bool)
		for _, c := range calls {
			aggregates[c.aggregate] = true
		}
		if len(calls) >= seenOut && len(aggregates) >= seenOutAggregates {
			r.endured++
		}
	}
	switch {
	case f.FailureOwn():
		delete(j.calls, key)
	case !own:
		j.calls[key] = append(calls, answer{j.world.elapsed(), r.Outbox + failing.AggregateID})
	}
}

// received follows an arrival, and judges its order and whether it has a cause.
func (j *judge) received(x *wire, target, path string, began time.Duration, replay string) *receipt {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.records[path]
	now := j.world.elapsed()
	got := &receipt{at: now, began: began, who: x.who, replay: replay != ""}
	if r == nil {
		j.faultLocked("lost", "", "%s delivers %s, which was never appended", x.who, path)
		return got
	}
	detail := target
	if replay != "" {
		detail += ", a replay"
	}
	j.noteLocked(x.who, "arrived", path, detail)
	if !slices.Contains(r.targets, target) {
		j.faultLocked("lost", path, "%s delivers it to %s, which is none of its targets", x.who, target)
	}
	if r.Defect.broken() {
		j.faultLocked("attempts", path, "%s delivers it, though it breaks the contract", x.who)
	}
	if before := r.receipts[target]; len(before) > 0 {
		j.duplicateLocked(r, target, before[len(before)-1], got)
	} else {
		j.orderLocked(r, target)
	}
	r.receipts[target] = append(r.receipts[target], got)
	j.overtakesFreezeLocked(r, target, got)
	return got
}

// cameBack follows the answer of a call for some records. Others of their run that
// have their answers already are judged with it. A call that had one of them
// acknowledged is an answer of its target, though a later one failed.
func (j *judge) cameBack(x *wire, target string, parcels []ier.Parcel, began time.Duration, acked bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if acked {
		delete(j.calls, x.who+target)
	}
	for _, p := range parcels {
		r := j.records[p.Record.Path()]
		if r == nil {
			continue
		}
		for _, other := range j.groups[fmt.Sprintf("%s/%s/%s", r.Outbox, r.lane, r.Aggregate)] {
			if at, ok := other.answered[x.who]; ok && began <= at {
				other.answered[x.who] = j.world.elapsed()
			}
		}
		r.answered[x.who] = j.world.elapsed()
	}
}

// acknowledged follows the answer of a delivery on its way back.
func (j *judge) acknowledged(x *wire, got *receipt, target string) {
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	got.acked = true
	if len(j.calls[x.who+target]) > 0 {
		for _, o := range j.world.catalog.Outboxes {
			j.bill.closings += min(readsPerClosing, j.world.unsettledLocked(o.Name, ""))
		}
	}
	delete(j.calls, x.who+target)
}

// orderLocked judges a first arrival: no younger record may have been there.
func (j *judge) orderLocked(r *record, target string) {
	if r.dead || r.Defect != sound {
		return
	}
	for _, other := range j.groups[fmt.Sprintf("%s/%s/%s", r.Outbox, r.lane, r.Aggregate)] {
		if other.Defect == retrying {
			return // it came in backoff, which nobody orders
		}
		if other.Version > r.Version && len(other.receipts[target]) > 0 && !other.receipts[target][0].replay {
			first := other.receipts[target][0]
			j.faultLocked("order", r.path, "it reaches %s after version %d, which was there at %s", target, other.Version, clock(first.at))
			return
		}
	}
}

// duplicateLocked judges a repeat: there must be a cause.
func (j *judge) duplicateLocked(r *record, target string, first, again *receipt) {
	j.world.count("repeat")
	noted, is := r.noted[target]
	if l := j.world.lifeOf(again.who); is && again.who != first.who && l != nil && noted < l.began {
		j.faultLocked("repeat", r.path, "%s delivers it to %s again, though the store said that before it started", again.who, target)
		return
	}
	if !first.acked {
		return
	}
	if died, was := j.deaths[first.who]; was && died <= again.at && first.who != again.who {
		return
	}
	if j.troubled(first.who, first.at, again.at) {
		return
	}
	j.faultLocked("repeat", r.path, "%s delivers it to %s again, which %s had done at %s, without a cause", again.who, target, first.who, clock(first.at))
}
