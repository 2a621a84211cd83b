package cost

import (
	"math"
	"time"

	"outboxrelay/contracts"
)

const (
	// PublishTime is how long a request to Pub/Sub takes, and so how long it has a
	// worker of its lane: assumed.
	PublishTime = 50 * time.Millisecond
	// CommitTime is how long a commit takes that no sequence holds up: assumed.
	CommitTime = 50 * time.Millisecond
	// patience is how many times its lane's settleLinger a delivered record waits to
	// be marked while another commit is under way.
	patience = 4
)

// Lane is what a rate needs of a lane's settings, by Little's law: as much is under
// way as comes in the time that it takes. No two records are taken to be of one
// aggregate: those that are share a request, and a worker.
type Lane struct {
	Lane contracts.Lane `json:"lane"`
	Rate float64        `json:"recordsPerSecond"` // over all outboxes
	// Workers of an instance, while another one is gone.
	Workers       int `json:"workersDeclared"`
	WorkersNeeded int `json:"workersNeeded"`
	// InFlight are the records of one outbox and shard, of the one that has most.
	InFlight       int `json:"inFlightDeclared"`
	InFlightNeeded int `json:"inFlightNeeded"`
}

// lanesOf looks at the flows of a catalog whose outboxes have their shards.
func lanesOf(c *contracts.Catalog, flows []Flow, instances int) (all []Lane) {
	others := float64(max(1, instances-1)) // one is gone: the others have its outboxes
	for _, lane := range contracts.Lanes() {
		policy := c.Lanes[lane]
		l := Lane{Lane: lane, Workers: policy.Workers, InFlight: policy.InFlight}
		busiest := 0.0
		for _, f := range flows {
			if f.Lane == lane {
				l.Rate += f.Rate
				busiest = max(busiest, f.Rate/float64(max(c.Outbox(f.Outbox).Shards, 1)))
			}
		}
		inMemory := PublishTime + patience*policy.SettleLinger + CommitTime
		l.WorkersNeeded = int(math.Ceil(l.Rate / others * PublishTime.Seconds()))
		l.InFlightNeeded = int(math.Ceil(busiest * inMemory.Seconds()))
		all = append(all, l)
	}
	return all
}

// carries is how many records a second so many workers publish.
func carries(workers int) float64 { return float64(workers) / PublishTime.Seconds() }
