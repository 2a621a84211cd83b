package table

import (
	"fmt"
	"slices"
)

// Aim is what a figure is to reach.
type Aim struct {
	bound   float64
	of      Side
	atLeast bool // the bound is the least, and not the most
	each    bool // every run is to reach it, and not the median
	more    bool // the bound is of the difference to a side, and not of the ratio
}

// Alone stands for no side to compare with: the bound is that of the judged side's figure itself.
const Alone Side = ""

// Never is the aim of what must not happen, in no run.
var Never = Aim{each: true}

// AtLeast wants the ratio to a side to be no less than bound.
func AtLeast(bound float64, of Side) Aim { return Aim{bound: bound, of: of, atLeast: true} }

// AtMost wants the ratio to a side to be no more than bound.
func AtMost(bound float64, of Side) Aim { return Aim{bound: bound, of: of} }

// MoreAtMost wants the difference to a side to be no more than bound.
func MoreAtMost(bound float64, of Side) Aim { return Aim{bound: bound, of: of, more: true} }

// met judges the runs of the judged side, or what they are of another's. There is at least one.
func (a Aim) met(runs []float64) bool {
	value := Median(runs)
	if a.each {
		value = slices.Max(runs)
	}
	if a.atLeast {
		return value >= a.bound
	}
	return value <= a.bound
}

// String is how the table words it.
func (a Aim) String() string {
	if a.more {
		return fmt.Sprintf("<= %s + %g", string(a.of), a.bound)
	}
	sign, of := "<=", ""
	if a.atLeast {
		sign = ">="
	}
	if a.of != Alone {
		of = " of " + string(a.of)
	}
	return fmt.Sprintf("%s %g%s", sign, a.bound, of)
}
