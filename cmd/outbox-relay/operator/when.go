package operator

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// printed is how a time is printed.
const printed = "2006-01-02 15:04:05 MST"

// when is a time on the command line: RFC 3339, as it is printed, or back from now.
type when struct{ time.Time }

// UnmarshalText reads it.
func (w *when) UnmarshalText(text []byte) error {
	t, ok := timeTyped(string(text), time.Now().UTC())
	switch {
	case ok && !sensible(t):
		return fmt.Errorf("%q is a time before 1970 or after 9999", text)
	case !ok:
		return fmt.Errorf("%q is neither a time, in RFC 3339 or as it is printed here, nor a duration such as 2h or 3d", text)
	}
	if !w.IsZero() {
		return fmt.Errorf("it is given twice, and takes one value")
	}
	w.Time = t
	return nil
}

// inOrder refuses a range of time that nothing lies in.
func inOrder(from, to when) error {
	if !from.IsZero() && !to.IsZero() && !from.Before(to.Time) {
		return fmt.Errorf("--from is not before --to: %s, %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return nil
}

// sensible reports whether anything can have happened at that time that was printed. The
// zero time, which would select as if it had not been given, is none.
func sensible(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}

// maxDays is more than any sensible time is away.
const maxDays = 10000 * 366

func timeTyped(text string, now time.Time) (t time.Time, ok bool) {
	if back, err := time.ParseDuration(text); err == nil {
		return now.Add(-back), true
	}
	if number, found := strings.CutSuffix(text, "d"); found {
		days, err := strconv.Atoi(number)
		return now.AddDate(0, 0, -min(max(days, -maxDays), maxDays)), err == nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	t, err := time.Parse(printed, text)
	// The name of a zone that is not this machine's says nothing of its offset.
	return t, err == nil && (t.Local().Format(printed) == text || t.UTC().Format(printed) == text)
}

// query is the time as a query parameter; "" for none.
func (w when) query() string {
	if w.IsZero() {
		return ""
	}
	return w.Format(time.RFC3339Nano)
}
