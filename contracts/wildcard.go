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

// ends are what stands before a pattern's first wildcard and behind its last.
type ends struct{ prefix, suffix string }

func endsOf(pattern string) ends {
	return ends{pattern[:strings.IndexByte(pattern, wildcard)], pattern[strings.LastIndexByte(pattern, wildcard)+1:]}
}

// overlap reports whether some name is matched by both patterns. One is where their ends
// agree: the longer beginning, what either holds between its wildcards, and the longer end.
func (e ends) overlap(other ends) bool {
	return (strings.HasPrefix(e.prefix, other.prefix) || strings.HasPrefix(other.prefix, e.prefix)) &&
		(strings.HasSuffix(e.suffix, other.suffix) || strings.HasSuffix(other.suffix, e.suffix))
}
