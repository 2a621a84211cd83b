package restore

import (
	"context"
	"slices"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Report tells what came back, and what became of it.
type Report struct {
	Outboxes []OutboxReport `json:"outboxes"`
	// Replays are dead letters that would be replayed without anybody asking
	// again, and Bulks bulk replays that would go on.
	Replays int `json:"replays"`
	Bulks   int `json:"bulks"`
	// Jobs are those that a work queue would send, and may have sent since.
	Jobs Leftovers `json:"jobs"`
	// Events are those that consumers had open, in their inboxes in this Firestore.
	Events Leftovers `json:"events"`
	// What is left as it stands, for a person to look at.
	Frozen int      `json:"frozen"` // aggregates
	Paused []string `json:"paused"` // lanes
}

// OutboxReport is one outbox's part of it. Records are counted as they were found.
type OutboxReport struct {
	Outbox   string `json:"outbox"`
	Pending  int    `json:"pending"`
	Retrying int    `json:"retrying"`
	Held     int    `json:"held"`
	Settled  int    `json:"settled"`
	Newer    int    `json:"newer"`  // appended after the export: the relay delivers them
	Faulty   int    `json:"faulty"` // break the contract: the relay dead-letters them and delivers nothing
}

// Found is how many records of the outbox were waiting in the export.
func (o *OutboxReport) Found() int { return o.Pending + o.Retrying + o.Held }

// Total sums the outboxes up.
func (r *Report) Total() OutboxReport {
	sum := OutboxReport{Outbox: "all"}
	for _, o := range r.Outboxes {
		sum.Pending += o.Pending
		sum.Retrying += o.Retrying
		sum.Held += o.Held
		sum.Settled += o.Settled
		sum.Newer += o.Newer
		sum.Faulty += o.Faulty
	}
	return sum
}

// surroundings tells of what a relay will find beside records and dead letters.
func (r *Restore) surroundings(ctx context.Context, report *Report) error {
	frozen, err := r.Letters.Count(ctx, dlq.Query{Collection: contracts.CollectionFrozen})
	if err != nil {
		return err
	}
	report.Frozen = int(frozen)
	controls, err := r.Queue.LaneControls(ctx)
	if err != nil {
		return err
	}
	for lane, c := range controls {
		if c.Paused {
			report.Paused = append(report.Paused, string(lane))
		}
	}
	slices.Sort(report.Paused)
	return nil
}
