package demo

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"outboxrelay/deploy/local/firestore"
)

// Summary is how a run ended.
type Summary struct {
	Took    time.Duration
	Totals  Totals
	Queue   Queue                // records that stand in the dead-letter queue, or behind it
	Missing map[string][]string  // some of those that have not arrived, with the targets that lack them
	Work    *Tally               // of the work queues; nil: there are no samples for them
	Bill    firestore.Operations // the relay's share; see RelaysBill

	// Interrupted says that nobody waited for the end: what has not arrived
	// was on its way.
	Interrupted bool
}

// Lost is how many records neither arrived nor stand in the dead-letter queue
// or behind it.
func (s Summary) Lost() int64 {
	in, delivered := s.Totals.Sum()
	return max(0, in-delivered-s.Queue.Undelivered())
}

// Left is how many of the records that were asked for neither arrived nor stand in
// the dead-letter queue or behind it, those that were never appended included.
func (s Summary) Left(records int64) int64 {
	in, _ := s.Totals.Sum()
	return min(records, max(0, records-in)+s.Lost())
}

// Stale is how many tokens lacked the claims that their signal told of.
func (s Summary) Stale() int64 {
	if s.Totals.Handshakes == nil {
		return 0
	}
	return s.Totals.Handshakes.Stale
}

// Kept reports whether the promise was kept: nothing lost, nothing out of
// order, and no app told of claims before they were set.
func (s Summary) Kept() bool { return s.Lost() == 0 && s.Totals.OutOfOrder == 0 && s.Stale() == 0 }

// Print writes the summary.
func (s Summary) Print(w io.Writer) {
	in, delivered := s.Totals.Sum()
	left := "lost"
	if s.Interrupted {
		left = "on their way"
	}
	fmt.Fprintf(w, "\n%d records appended, %d delivered, %d in the dead-letter queue, %d held, %d %s, in %s\n\n",
		in, delivered, s.Queue.Dead(), s.Queue.Held, s.Lost(), left, s.Took.Truncate(100*time.Millisecond))
	fmt.Fprintf(w, "%-12s %9s %10s %10s %10s\n", "lane", "appended", "delivered", "p50 lag", "p99 lag")
	for _, lane := range s.Totals.Lanes {
		fmt.Fprintf(w, "%-12s %9d %10d %10s %10s\n", short(lane.Lane), lane.In, lane.Delivered, lag(lane.P50), lag(lane.P99))
	}
	fmt.Fprintf(w, "\n%d messages, %d duplicates, %d replays, %d out of order\n",
		s.Totals.Messages, s.Totals.Duplicates, s.Totals.Replayed, s.Totals.OutOfOrder)
	if h := s.Totals.Handshakes; h != nil {
		fmt.Fprintf(w, "claims  %s\n", h)
	}
	if line := audienceLine(s.Totals.Consumers); line != "" {
		fmt.Fprintln(w, line)
	}
	if s.Work != nil {
		fmt.Fprintf(w, "queues  %s\n", s.Work)
	}
	if in > 0 {
		n := float64(in)
		fmt.Fprintf(w, "billed per record: %.2f reads, %.2f writes, %.2f deletes (the appends themselves apart)\n",
			float64(s.Bill.Reads)/n, float64(s.Bill.Writes-in)/n, float64(s.Bill.Deletes)/n)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Missing)) {
		fmt.Fprintf(w, "has not arrived: %s at %s\n", key, strings.Join(s.Missing[key], ", "))
	}
}

// RelaysBill is what a run's Firestore would bill, less the producers' business
// documents and what the work queues do. The appended records are still in it, a write each.
func RelaysBill(bill firestore.Billing) firestore.Operations {
	out := firestore.Operations{Reads: bill.Reads, Writes: bill.Writes, Deletes: bill.Deletes}
	for _, collection := range append([]string{samples}, workCollections...) {
		other := bill.Collections[collection]
		out.Reads, out.Writes, out.Deletes = out.Reads-other.Reads, out.Writes-other.Writes, out.Deletes-other.Deletes
	}
	return out
}
