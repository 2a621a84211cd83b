package contracts

import (
	"fmt"
	"slices"
	"strings"
)

// CatalogFault is one thing that is wrong with a catalog file.
type CatalogFault struct {
	Line    int    // 1 is the first
	Problem string // what is wrong
	Remedy  string // what to do about it
}

// CatalogError is everything that is wrong with a catalog file.
type CatalogError struct {
	File   string
	Faults []CatalogFault // by line
}

// Error has one line for each fault: "file:line: what is wrong; what to do".
func (e *CatalogError) Error() string { return strings.Join(faultLines(e.File, e.Faults), "\n") }

// faultLines sorts faults by line, in place, and renders them.
func faultLines(file string, faults []CatalogFault) []string {
	slices.SortStableFunc(faults, func(a, b CatalogFault) int { return a.Line - b.Line })
	var lines []string
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", file, f.Line, oneLine(f.Problem+"; "+f.Remedy)))
	}
	return lines
}
