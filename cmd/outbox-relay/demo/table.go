package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// View is what a moment of the demo looks like.
type View struct {
	Elapsed time.Duration
	Totals  Totals
	Failing map[contracts.Lane]int // records held back by a failed delivery
	Work    *Tally                 // of the work queues; nil: there are no samples for them
	Notes   []string               // what an onlooker should know now: outages, open breakers
}

// Table draws a view over several lines, for a terminal.
func (v View) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "outbox-relay local, %s\n\n", v.Elapsed.Truncate(time.Second))
	fmt.Fprintf(&b, "%-12s %9s %10s %8s %10s %10s %8s\n", "lane", "in", "delivered", "pending", "p50", "p99", "failing")
	for _, lane := range v.Totals.Lanes {
		fmt.Fprintf(&b, "%-12s %9d %10d %8d %10s %10s %8d\n", short(lane.Lane), lane.In, lane.Delivered, lane.Pending(),
			lag(lane.LateP50), lag(lane.LateP99), v.Failing[lane.Lane])
	}
	fmt.Fprintf(&b, "\nlag from append to acknowledgement, last minute\n%d messages, %d duplicates, %d replays, %d out of order\n",
		v.Totals.Messages, v.Totals.Duplicates, v.Totals.Replayed, v.Totals.OutOfOrder)
	if h := v.Totals.Handshakes; h != nil {
		fmt.Fprintf(&b, "claims  %s\n", h)
	}
	if line := audienceLine(v.Totals.Consumers); line != "" {
		fmt.Fprintln(&b, line)
	}
	if v.Work != nil {
		fmt.Fprintf(&b, "queues  %s\n", v.Work)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(&b, "%s\n", note)
	}
	return b.String()
}

// Line renders a view as one line, for a log.
func (v View) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%4ds", int(v.Elapsed.Seconds()))
	for _, lane := range v.Totals.Lanes {
		fmt.Fprintf(&b, " | %s in=%d delivered=%d pending=%d p50=%s p99=%s failing=%d", short(lane.Lane), lane.In, lane.Delivered, lane.Pending(),
			lag(lane.LateP50), lag(lane.LateP99), v.Failing[lane.Lane])
	}
	fmt.Fprintf(&b, " | duplicates=%d outOfOrder=%d", v.Totals.Duplicates, v.Totals.OutOfOrder)
	if h := v.Totals.Handshakes; h != nil {
		fmt.Fprintf(&b, " | claims set=%d refreshed=%d p50=%s refused=%d", h.Set, h.Refreshed, lag(h.P50), h.Refused)
	}
	if line := audienceLine(v.Totals.Consumers); line != "" {
		fmt.Fprintf(&b, " | %s", line)
	}
	if v.Work != nil {
		fmt.Fprintf(&b, " | %s", v.Work)
	}
	return b.String()
}

// Screen redraws views in place on a terminal. On anything else it writes a
// line for each view, and each note once.
type Screen struct {
	w        io.Writer
	terminal bool
	drawn    int // lines of the last table, to go back over
	told     map[string]bool
}

// NewScreen writes to w, which is a terminal or not.
func NewScreen(w io.Writer, terminal bool) *Screen {
	return &Screen{w: w, terminal: terminal, told: map[string]bool{}}
}

// Every is how often a view should be shown.
func (s *Screen) Every() time.Duration {
	if s.terminal {
		return 500 * time.Millisecond
	}
	return 5 * time.Second
}

// Control sequences of a terminal.
const (
	up         = "\x1b[%dF" // to the start of the n-th line above
	clearBelow = "\x1b[J"   // from here on
	cut        = "\x1b[?7l" // long lines at the edge, so that a line is one line
	wrap       = "\x1b[?7h" // them again
)

// Show draws v. The writer failing is not told: nobody looks any more.
func (s *Screen) Show(v View) {
	if !s.terminal {
		s.Tell(v.Notes)
		fmt.Fprintln(s.w, v.Line())
		return
	}
	if s.drawn > 0 {
		fmt.Fprintf(s.w, up+clearBelow, s.drawn)
	}
	table := v.Table()
	fmt.Fprint(s.w, cut, table, wrap)
	s.drawn = strings.Count(table, "\n")
}

// Tell writes notes at once where Show would be long in coming: on anything but
// a terminal. A note that stands is told once.
func (s *Screen) Tell(notes []string) {
	if s.terminal {
		return
	}
	standing := map[string]bool{}
	for _, note := range notes {
		standing[note] = true
		if !s.told[note] {
			fmt.Fprintln(s.w, note)
		}
	}
	s.told = standing
}

func short(lane contracts.Lane) string { return strings.TrimSuffix(string(lane), "_LANE") }

func lag(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return d.Truncate(100 * time.Millisecond).String()
}
