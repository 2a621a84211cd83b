package contracts

import "strings"

// Fault is one thing that is wrong with a record: which field, and what about
// it. Neither part ever holds a payload value.
type Fault struct {
	Field   string // as in Firestore, dotted inside the payload: "payload.amount"; empty for the record as a whole
	Problem string // "is missing", "is a string, want an integer", ...
}

func (f Fault) String() string {
	if f.Field == "" {
		return f.Problem
	}
	return f.Field + " " + f.Problem
}

// Faults is everything that is wrong with one record.
type Faults []Fault

// Error joins the faults with "; ".
func (fs Faults) Error() string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = f.String()
	}
	return strings.Join(parts, "; ")
}

// Err returns fs as an error, or nil when there are none.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}
