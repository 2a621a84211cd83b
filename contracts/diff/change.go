package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Kind says whether a change can be made.
type Kind string

// The kinds of change, the gravest first.
const (
	Breaking Kind = "breaking" // something that worked is refused, lost or misread
	Heed     Kind = "heed"     // everything goes on, otherwise than before
	Additive Kind = "additive" // nobody has to do anything
)

// Change is one difference between two catalogs.
type Change struct {
	Kind        Kind   `json:"kind"`
	Where       string `json:"where"`           // "accOutbox RoleChanged v1", "target FUNNEL", "lane CRITICAL_LANE"
	Field       string `json:"field,omitempty"` // the catalog's key, or the path of a payload's field: "payload.lines[].amount"
	Change      string `json:"change"`          // what differs
	Consequence string `json:"consequence"`     // what comes of it
	Remedy      string `json:"remedy,omitempty"`
}

// Path is where and field in one.
func (c Change) Path() string { return strings.TrimSpace(c.Where + " " + c.Field) }

// Count returns how many changes are of a kind.
func Count(changes []Change, kind Kind) (n int) {
	for _, c := range changes {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// sorted brings the gravest first, and leaves the order of the catalog otherwise.
func sorted(changes []Change) []Change {
	rank := func(k Kind) int { return slices.Index([]Kind{Breaking, Heed, Additive}, k) }
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
	return changes
}
