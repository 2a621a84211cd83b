package main

import (
	"slices"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// automaticReplays is how many replays a SAFE_AUTO dead letter gets before it
// waits for review.
const automaticReplays = 5

// reasons of the dead letters of each fate.
var reasons = map[fate]contracts.Reason{
	fateExhausted: contracts.AttemptsExhausted,
	fatePermanent: contracts.PermanentFailure,
	fateBroken:    contracts.ContractViolation,
}

// judgeDeath asks whether a record died that was to, and as what it did.
func (t *trial) judgeDeath(r *record) {
	t.checked[rightlyDead]++
	letters := t.lettersOf[r.path()]
	if len(letters) == 0 {
		if d := t.documents[r.path()]; r.mayDie() && d.status == contracts.Delivered {
			t.found(rightlyDead, r.path(), "it was to be refused (%s), and is delivered without a dead letter", r.fate)
		}
		return
	}
	l := letters[0]
	switch {
	case len(letters) > 1:
		t.found(rightlyDead, r.path(), "it has %d dead letters", len(letters))
	case !r.mayDie():
		t.found(rightlyDead, r.path(), "it is %s, and was dead-lettered: %s after %d attempts, pending %v", r.fate, l.reason, l.attempts, l.pending)
		return
	}
	wantTier, wantAttempts := r.tier, t.catalog.Retry.MaxAttempts
	switch r.fate {
	case fateBroken:
		wantTier, wantAttempts = r.tier.Stricter(contracts.ReviewRequired), 0
	case fatePermanent:
		wantAttempts = 1
	}
	if l.reason != reasons[r.fate] || l.from != wantTier || l.attempts != wantAttempts {
		t.found(rightlyDead, r.path(), "its dead letter says %s, %s, %d attempts; want %s, %s, %d",
			l.reason, l.from, l.attempts, reasons[r.fate], wantTier, wantAttempts)
	}
	if r.fate != fateBroken && l.state != contracts.DeadReplayed && !slices.Contains(l.pending, r.refusing) {
		t.found(rightlyDead, r.path(), "its dead letter waits for %v; %s refused it", l.pending, r.refusing)
	}
	if r.fate != fateBroken && (l.key != r.key || l.traceID != r.traceID) {
		t.found(identityKept, r.path(), "its dead letter has key %s and trace %s", l.key, l.traceID)
	}
}

// judgeAttempts asks whether a failure was counted that was no fault of the
// record.
func (t *trial) judgeAttempts(r *record) {
	t.checked[noAttemptBurned]++
	most := int64(0)
	switch r.fate {
	case fateFlaky:
		most = int64(r.refusals)
	case fateExhausted:
		most = int64(t.catalog.Retry.MaxAttempts)
	case fatePermanent:
		most = 1
	}
	d := t.documents[r.path()]
	if d.attempts > most {
		t.found(noAttemptBurned, r.path(), "%d failed attempts are counted (last: %v); it is %s, so there can be %d", d.attempts, d.fields[contracts.FieldLastError], r.fate, most)
	}
}

// ends are the states in which each tier's dead letters may be when all is quiet.
// A SAFE_AUTO one also waits for as long as an older one of its aggregate does.
var ends = map[contracts.Tier][]contracts.DeadState{
	contracts.SafeAuto:       {contracts.DeadReplayed},
	contracts.ReviewRequired: {contracts.DeadAwaitingReview, contracts.DeadReplayed, contracts.DeadDiscarded},
	contracts.SecurityBlock:  {contracts.DeadBlocked, contracts.DeadAuthorized, contracts.DeadReplayed, contracts.DeadDiscarded},
}

// judgeStates holds dead letters and freezes to their machines.
func (t *trial) judgeStates() {
	blocking := map[string][]string{} // IDs of SECURITY_BLOCK dead letters, by aggregate
	for _, l := range t.letters {
		t.checked[statesLegal]++
		t.judgeLetter(l)
		if l.from == contracts.SecurityBlock {
			blocking[l.aggregate] = append(blocking[l.aggregate], l.id)
			if _, frozen := t.freezes[l.aggregate]; !frozen && !t.released[l.aggregate] {
				t.found(statesLegal, l.path, "its dead letter is of %s, and aggregate %s is not frozen, nor did anybody release it", l.from, l.aggregate)
			}
		}
	}
	for aggregate, f := range t.freezes {
		t.checked[statesLegal]++
		if f.state != dlq.Frozen {
			t.found(statesLegal, "freeze of "+aggregate, "it is %q at the end", f.state)
		}
		if len(blocking[aggregate]) == 0 {
			t.found(statesLegal, "freeze of "+aggregate, "no SECURITY_BLOCK dead letter caused it")
		}
		for _, id := range f.letters {
			if !slices.Contains(blocking[aggregate], id) {
				t.found(statesLegal, "freeze of "+aggregate, "it names dead letter %s, which is not there", id)
			}
		}
	}
}

func (t *trial) judgeLetter(l letter) {
	waits := l.tier == contracts.SafeAuto && l.state == contracts.DeadScheduled && t.hasOlder(l)
	if !slices.Contains(ends[l.tier], l.state) && !waits {
		t.found(statesLegal, l.path, "its dead letter is %s and %s at the end", l.tier, l.state)
	}
	if l.open != dlq.Open(l.state) {
		t.found(statesLegal, l.path, "its dead letter is %s and open is %t", l.state, l.open)
	}
	if l.replaying && !t.hasOlder(l) { // such one waits: the older one died after it was asked for
		t.found(statesLegal, l.path, "its dead letter is being replayed at the end")
	}
	raised := l.from == contracts.SafeAuto && l.tier == contracts.ReviewRequired && l.replays >= automaticReplays
	if l.tier != l.from && !raised {
		t.found(statesLegal, l.path, "its dead letter went from %s to %s after %d replays", l.from, l.tier, l.replays)
	}
	want := contracts.Dead
	if l.state == contracts.DeadReplayed {
		want = contracts.Delivered
	}
	if d, ok := t.documents[l.path]; ok && d.status != want {
		t.found(statesLegal, l.path, "its dead letter is %s, and the record %s", l.state, d.status)
	}
}

// hasOlder reports whether an open dead letter of the aggregate has to go first.
func (t *trial) hasOlder(l letter) bool {
	return slices.ContainsFunc(t.letters, func(older letter) bool {
		return older.open && older.outbox == l.outbox && older.aggregate == l.aggregate && !older.versionless && older.version < l.version
	})
}

// judgeLeases asks who owns what now that all is quiet, and whether ever two
// said so of one taking: renewals are compare-and-set, so nobody renews what
// another took.
func (t *trial) judgeLeases() {
	for at, owners := range t.takings {
		t.checked[soleOwner]++
		if len(owners) > 1 {
			t.found(soleOwner, at.share, "%v had it as it was taken at %s", owners, clock(at.since))
		}
	}
	for _, share := range shares(t.catalog) {
		t.checked[sharesOwned]++
		l, ok := t.leases[share]
		age, live := t.instances[l.Owner]
		switch {
		case !ok || l.Owner == "":
			t.found(sharesOwned, share, "nobody owns it")
		case !live:
			t.found(sharesOwned, share, "its owner %s is not registered, or stopping", l.Owner)
		case l.Age > l.Term || age > l.Term:
			t.found(sharesOwned, share, "its lease is %v old, its owner %s was last seen %v ago; the term is %v", l.Age, l.Owner, age, l.Term)
		}
	}
}

// shares lists what can be owned.
func shares(c *contracts.Catalog) []string {
	out := []string{contracts.ShareQueue}
	for _, s := range c.Shares() {
		out = append(out, s.String())
	}
	return out
}
