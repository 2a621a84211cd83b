package dlq

import "regexp"

// FreezeName is what stands for a frozen aggregate in a path of the admin API and the
// console. It is its ID, but no path can carry "." and "..", escaped or not, as it is
// cleaned on its way: these are written as in FreezeID, and what reads like that gets one
// more escape.
func FreezeName(aggregateID string) string {
	switch {
	case aggregateID == "." || aggregateID == "..":
		return "%2E" + aggregateID[1:]
	case escapedDots.MatchString(aggregateID):
		return "%25" + aggregateID[1:]
	}
	return aggregateID
}

// NamedFreeze is the aggregate that a FreezeName stands for.
func NamedFreeze(name string) (aggregateID string) {
	switch {
	case name == "%2E" || name == "%2E.":
		return "." + name[3:]
	case escapedDots.MatchString(name):
		return "%" + name[3:]
	}
	return name
}

var escapedDots = regexp.MustCompile(`^%(25)*2E\.?$`)
