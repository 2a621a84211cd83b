package claims

import "strings"

// thinParts are the parts that a thin event of a type is about. One of a type that
// is not known here is about all that an account's document can have.
func thinParts(eventType string) []int {
	switch eventType {
	case "RoleChanged":
		return []int{roles}
	case "PolicyChanged":
		return []int{policies}
	}
	return []int{roles, policies}
}

// judgeThin refuses a thin event whose account's document does not tell what became
// of its parts: one that is malformed, or gone although the account has it, may be a
// right that was taken away. A document that is no newer than the snapshot's part
// takes nothing away. The failures are permanent.
func (r *refresh) judgeThin(account Parts, faults []string) error {
	doc := r.docs.account
	if doc.Fields == nil {
		return permanent(CodeNothing, "the payload has no part, and the account's document does not exist")
	}
	if len(faults) > 0 {
		return permanent(CodeMalformed, "the account's document: %s", strings.Join(faults, "; "))
	}
	version := accountVersion(doc, true, r.record.AggregateVersion)
	for _, k := range thinParts(r.record.EventType) {
		stored := r.docs.snapshot.Parts[k]
		has := len(rights(stored.Value)) > 0 && version > stored.Version
		if !stored.said() {
			_, has = r.held[partNames[k]]
		}
		if has && !account[k].said() {
			return permanent(CodeMalformed, "the account's document has no %s, and the account has: want all of them, [] where none is left", partNames[k])
		}
	}
	if account.nothing() {
		return permanent(CodeNothing, "the payload has no part, and the account's document has neither roles nor policies")
	}
	return nil
}
