package contracts

import "strings"

// wildcard is the one special character of an event pattern. It stands for any
// run of characters, also for none.
const wildcard = '*'

// isPattern reports whether eventType is a pattern rather than an exact type.
func isPattern(eventType string) bool { return strings.IndexByte(eventType, wildcard) >= 0 }

// matchPattern reports whether name is one that pattern stands for. It takes
// time proportional to len(pattern)*len(name) at worst.
func matchPattern(pattern, name string) bool {
	p, n := 0, 0
	star, resume := -1, 0 // last '*' seen, and where in name it is tried next
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == wildcard:
			star, resume = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // let the last '*' swallow one more character
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], string(wildcard)) == ""
}

// patternsOverlap reports whether some name is matched by both patterns.
func patternsOverlap(a, b string) bool {
	// next[j] says whether a[i+1:] and b[j:] overlap, row[j] the same for a[i:].
	next := make([]bool, len(b)+1)
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			aEnds, bEnds := i == len(a), j == len(b)
			switch {
			case aEnds && bEnds:
				row[j] = true
			case !aEnds && a[i] == wildcard:
				row[j] = next[j] || !bEnds && row[j+1]
			case !bEnds && b[j] == wildcard:
				row[j] = row[j+1] || !aEnds && next[j]
			default:
				row[j] = !aEnds && !bEnds && a[i] == b[j] && next[j+1]
			}
		}
		next, row = row, next
	}
	return next[0]
}
