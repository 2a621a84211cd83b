package claims

import (
	"fmt"
	"maps"
	"slices"
)

// Part is one part of an account's claims.
type Part struct {
	// Value is []any for roles and policies, map[string]any for further claims,
	// of the kinds that plain returns. nil: nobody ever said.
	Value   any
	Version int64 // aggregateVersion that it came from
}

// said reports whether the part has a value; an empty one is a value.
func (p Part) said() bool { return p.Value != nil }

// Parts are the parts of an account's claims, by kind.
type Parts [kinds]Part

// The kinds of parts.
const (
	roles = iota
	policies
	further
	kinds
)

// partNames are the parts' names in a payload and in the snapshot. The first two
// are also those of the claims that they become.
var partNames = [kinds]string{"roles", "policies", "claims"}

// nothing reports whether no part has a value.
func (p Parts) nothing() bool {
	return !slices.ContainsFunc(p[:], Part.said)
}

// version is the newest version of a part; 0 when none was said.
func (p Parts) version() (newest int64) {
	for _, part := range p {
		newest = max(newest, part.Version)
	}
	return newest
}

// furtherClaims returns the names and values of the third part.
func (p Parts) furtherClaims() map[string]any {
	m, _ := p[further].Value.(map[string]any)
	return m
}

// readParts takes the parts out of fields, which are of the kinds that plain
// returns. Whatever is of another shape counts as not said, and is named.
func readParts(fields map[string]any, version int64) (parts Parts, faults []string) {
	for k, name := range partNames {
		v, ok := fields[name]
		if !ok && k == roles {
			if v, ok = fields[shortRole]; ok {
				name, v = shortRole, []any{v}
			}
		}
		if !ok {
			continue
		}
		if problem := partProblem(k, v); problem != "" {
			faults = append(faults, name+" "+problem)
			continue
		}
		parts[k] = Part{Value: v, Version: version}
	}
	return parts, faults
}

// shortRole is the short form of roles with one role.
const shortRole = "role"

// partProblem says what is wrong with the shape of a part's value, or "".
func partProblem(kind int, v any) string {
	switch {
	case v == nil && kind == further:
		return "is null, want an object, {} for none"
	case v == nil:
		return "is null, want an array, [] for none"
	case kind == further:
		m, ok := v.(map[string]any)
		switch {
		case !ok:
			return "is no object"
		case slices.Contains(slices.Collect(maps.Keys(m)), ""):
			return "has a claim without a name"
		}
		return ""
	}
	items, ok := v.([]any)
	if !ok {
		return "is no array"
	}
	for i, item := range items {
		text, isText := item.(string)
		_, isObject := item.(map[string]any)
		switch {
		case isText && text != "":
		case isObject && kind == policies:
		case kind == policies:
			return fmt.Sprintf("holds something else than text or an object at %d", i)
		default:
			return fmt.Sprintf("holds something else than text at %d", i)
		}
	}
	return ""
}
