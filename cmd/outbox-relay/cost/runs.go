package cost

import (
	"time"

	"outboxrelay/contracts"
)

// Run is a simulated time of relays that have parts of what a rate needs, all of
// it or half. A test runs it.
type Run struct {
	Rate                       float64 // records a second
	Outbox                     string  // that takes all of them; none: all outboxes, evenly
	Shards, Instances, Workers float64 // parts of what Rate needs
	// Behind is what the relays had not delivered at the end, as the time in which
	// producers offer as much; at most, if they have all that Rate needs.
	Behind time.Duration
}

// RunFor is how long producers append in a Run.
const RunFor = 10 * time.Second

// Runs are those that docs/SIZING.md tells of.
func Runs() []Run {
	const ws = "wsOutbox"
	return []Run{
		{1_000, ws, 1, 1, 1, 500 * time.Millisecond},
		{1_000, ws, 0.5, 1, 1, 4700 * time.Millisecond},
		{10_000, "", 1, 1, 1, 500 * time.Millisecond},
		{10_000, "", 0.5, 1, 1, 4900 * time.Millisecond},
		{10_000, "", 1, 0.5, 1, 4100 * time.Millisecond},
		{10_000, "", 1, 1, 0.5, 4200 * time.Millisecond},
	}
}

// Needs is the estimate of what a Run has parts of.
func (r Run) Needs(c *contracts.Catalog, p *Prices) (*Estimate, error) {
	w := Default(c, p, r.Rate)
	if r.Outbox != "" {
		w.Split = map[string]float64{r.Outbox: 1}
	}
	return New(w)
}

// Suffices reports whether a Run has all that it needs.
func (r Run) Suffices() bool { return min(r.Shards, r.Instances, r.Workers) >= 1 }

// Has is what a Run has of a number that it needs.
func Has(part float64, needed int) int { return max(1, int(part*float64(needed))) }
