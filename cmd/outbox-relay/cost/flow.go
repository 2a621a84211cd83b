package cost

import (
	"fmt"
	"maps"
	"slices"

	"outboxrelay/contracts"
)

// Flow is the part of the records that takes one lane of one outbox.
type Flow struct {
	Outbox string         `json:"outbox"`
	Lane   contracts.Lane `json:"lane"`
	Rate   float64        `json:"recordsPerSecond"`
}

// mix is what the catalog does with a rate: flows, and the averages over all
// records. Within an outbox every event type counts the same.
type mix struct {
	flows  []Flow
	rates  map[string]float64 // by outbox
	topics float64            // Pub/Sub targets of a record
	claims float64            // share of records that CLAIMS_HANDLER takes, or another handler
	tiers  map[contracts.Tier]float64
}

// newMix spreads a rate over the outboxes by their weights; without weights evenly.
func newMix(c *contracts.Catalog, rate float64, weights map[string]float64) (mix, error) {
	shares, err := sharesOf(c, weights)
	if err != nil {
		return mix{}, err
	}
	m := mix{rates: make(map[string]float64), tiers: make(map[contracts.Tier]float64)}
	for _, o := range c.Outboxes {
		share := shares[o.Name]
		m.rates[o.Name] = rate * share
		lanes := make(map[contracts.Lane]float64)
		for _, e := range o.Events {
			each := share / float64(len(o.Events))
			lanes[e.Lane] += rate * each
			m.tiers[e.Tier] += each
			for _, t := range e.Targets {
				if c.Targets[t].Kind == contracts.KindHandler {
					m.claims += each
				} else {
					m.topics += each
				}
			}
		}
		for _, lane := range o.Lanes() {
			m.flows = append(m.flows, Flow{Outbox: o.Name, Lane: lane, Rate: lanes[lane]})
		}
	}
	return m, nil
}

// sharesOf are the parts of the rate, by outbox; together 1.
func sharesOf(c *contracts.Catalog, weights map[string]float64) (map[string]float64, error) {
	if len(weights) == 0 {
		weights = make(map[string]float64)
		for _, o := range c.Outboxes {
			weights[o.Name] = 1
		}
	}
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		w := weights[name]
		if c.Outbox(name) == nil {
			return nil, fmt.Errorf("the split names %q, which is no outbox of the catalog", name)
		}
		if !(w >= 0) || w > maxRate {
			return nil, fmt.Errorf("the split gives %s a weight of %v, want 0 or more", name, w)
		}
		sum += w
	}
	if sum == 0 {
		return nil, fmt.Errorf("the split gives no outbox a weight")
	}
	out := make(map[string]float64, len(weights))
	for name, w := range weights {
		out[name] = w / sum
	}
	return out, nil
}
