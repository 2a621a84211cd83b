package simulation

import (
	"time"

	"outboxrelay/contracts"
)

// freezing is a freeze as the process knows of it that wrote it: once the last call
// for the dead letter's record came back, it begins to deliver nothing of the
// aggregate.
type freezing struct {
	by    string
	since time.Duration
}

// atOnce is what the process may take to take note of a failure.
const atOnce = 10 * time.Millisecond

// frozeLocked follows a change of a freeze.
func (j *judge) frozeLocked(by string, c change, all []change) {
	aggregate := ""
	for _, d := range []*document{c.before, c.after} {
		if d != nil {
			aggregate = textOf(d.fields[contracts.FieldAggregateID])
		}
	}
	if c.after == nil || c.after.fields["state"] != "frozen" {
		delete(j.frozen, aggregate)
		return
	}
	f := freezing{by, j.world.elapsed()}
	for _, other := range all {
		if r := j.freezerOf(aggregate, other); r != nil {
			if at, ok := r.answered[by]; ok {
				f.since = min(f.since, at)
			}
		}
	}
	if c.before != nil && c.before.fields["state"] == "frozen" {
		return // it was frozen before
	}
	j.frozen[aggregate] = f
	for _, r := range j.records {
		if r.Aggregate == aggregate {
			for target, all := range r.receipts {
				for _, got := range all {
					j.overtakesFreezeLocked(r, target, got)
				}
			}
		}
	}
}

// freezerOf returns the record whose dead letter freezes the aggregate, if that is what is
// written: others of it may die in the same commit.
func (j *judge) freezerOf(aggregate string, c change) *record {
	if c.collection != contracts.CollectionDeadLetters || c.after == nil {
		return nil
	}
	letter := c.after.fields
	if textOf(letter[contracts.DeadFieldTier]) != string(contracts.SecurityBlock) || textOf(letter[contracts.FieldAggregateID]) != aggregate {
		return nil
	}
	return j.records[textOf(letter[contracts.DeadFieldRecordPath])]
}

// overtakesFreezeLocked judges an arrival by what its process knew of a freeze.
func (j *judge) overtakesFreezeLocked(r *record, target string, got *receipt) {
	f, is := j.frozen[r.Aggregate]
	if is && f.by == got.who && !got.replay && got.began > f.since+atOnce {
		j.faultLocked("freeze", r.path, "%s begins to deliver it to %s at %s, though it froze the aggregate for what failed at %s",
			got.who, target, clock(got.began), clock(f.since))
	}
}
