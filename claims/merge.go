package claims

import (
	"maps"
	"slices"

	"outboxrelay/contracts"
)

// newest merges the parts of three sources: for each part the highest version
// wins, and a tie goes to what is stored, then to the payload.
func newest(stored, payload, account Parts) Parts {
	merged := stored
	for k := range merged {
		for _, p := range []Part{payload[k], account[k]} {
			if p.said() && (!merged[k].said() || p.Version > merged[k].Version) {
				merged[k] = p
			}
		}
	}
	return merged
}

// change is what one record brings.
type change struct {
	rec     *contracts.Record
	payload Parts
	account Parts
	revoke  bool // the record's route asks for it
}

// merge returns the snapshot behind the change, and whether it differs. What another record proposed, and nobody
// carried out, is not in it: that record may have been given up, and if not it comes again. held are
// the user's claims, which say what there was before the first snapshot.
// floor is a claimsVersion that was already given out, though the snapshot may
// have been lost.
func (s Snapshot) merge(c change, held map[string]any, floor int64) (Snapshot, bool) {
	next, before := s, s.carriedOut(held)
	base := before.Parts
	switch {
	case s.isOf(c.rec):
		base = s.Parts
	case before.Version < s.ClaimsVersion:
		if saysFirst(before.Parts, s.Parts) {
			before.RevokeFor = s.RevokeFor
		}
		next.Owned, next.RevokeFor = before.Owned, before.RevokeFor
		next.Late = newestTexts(s.Late, s.Parts.furtherBut(before.Owned))
	}
	next.Parts = newest(base, c.payload, c.account)
	if !differ(s.Parts, next.Parts) && len(contradicted(s.Parts, next.Parts)) == 0 { // what is left out may be of the same version
		return s, false
	}
	next.Before = &before
	next.AccountID = c.rec.AggregateID
	next.ClaimsVersion = max(s.ClaimsVersion+1, floor+1, c.rec.AggregateVersion, next.Parts.version())
	next.EventID, next.EventType = c.rec.EventID, c.rec.EventType
	next.TraceID, next.IdempotencyKey = c.rec.TraceID, c.rec.IdempotencyKey
	next.Owned = union(next.Owned, slices.Collect(maps.Keys(next.Parts.furtherClaims())))
	if c.revoke && takesAway(before.Parts, next.Parts, held) {
		next.RevokeFor = next.ClaimsVersion
	}
	return next, true
}

// furtherBut lists the further claims, as claimText has them, but for those with the names that are owned anyway.
func (p Parts) furtherBut(owned []string) (texts []string) {
	for name, v := range p.furtherClaims() {
		if !slices.Contains(owned, name) {
			texts = append(texts, claimText(name, v))
		}
	}
	return texts
}

// claimText is a claim with its value as one text.
func claimText(name string, v any) string { return canonical([]any{name, v}) }

// union is the texts of both, sorted, each once.
func union(a, b []string) []string {
	texts := slices.Concat(a, b)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// mostLate bounds Snapshot.Late, or an account whose records are given up again and again would have a snapshot
// too large to write. Auth takes 1,000 bytes of claims, fewer than 170 of them: these are of three proposals at least.
const mostLate = 500

// newestTexts is the last mostLate of old and then added, each once.
func newestTexts(old, added []string) []string {
	texts := slices.DeleteFunc(slices.Clone(old), func(t string) bool { return slices.Contains(added, t) })
	texts = append(texts, union(added, nil)...)
	return texts[max(0, len(texts)-mostLate):]
}

// differ compares by version: a newer event that says the same is a change, so
// that no event in between can undo it, and its claimsVersion is announced.
func differ(a, b Parts) bool {
	for k := range a {
		if a[k].said() != b[k].said() || a[k].Version != b[k].Version {
			return true
		}
	}
	return false
}

// contradicted names the parts of which stored has another value of the very version that payload has: of two
// events the first stands, and a repeat says the same.
func contradicted(stored, payload Parts) (names []string) {
	for k, p := range payload {
		if p.said() && stored[k].Version == p.Version && canonical(stored[k].Value) != canonical(p.Value) {
			names = append(names, partNames[k])
		}
	}
	return names
}

// takesAway reports whether a right is in before that is not in after: a role, a
// policy, or a further claim with its value. Where a part was never said, the
// user's own claims tell what was there.
func takesAway(before, after Parts, held map[string]any) bool {
	for k := range before {
		old := before[k].Value
		if !before[k].said() && after[k].said() && k != further {
			old = held[partNames[k]]
		}
		has := rights(after[k].Value)
		for right := range rights(old) {
			if !has[right] {
				return true
			}
		}
	}
	return false
}

// saysFirst reports whether after has roles or policies of which before says nothing. What they take away the
// user's claims alone tell, and no more once a late handler has set them.
func saysFirst(before, after Parts) bool {
	return !before[roles].said() && after[roles].said() || !before[policies].said() && after[policies].said()
}

// rights are the members of a part's value.
func rights(value any) map[string]bool {
	out := make(map[string]bool)
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			out[canonical(item)] = true
		}
	case map[string]any:
		for name, v := range value {
			out[claimText(name, v)] = true
		}
	}
	return out
}
