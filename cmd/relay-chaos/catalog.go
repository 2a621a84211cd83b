package main

import (
	"maps"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// inFlight is how many records of one outbox and lane a relay holds in memory,
// and so may have published without having said so: the bound on what one
// crash repeats. It is small, so that windows overflow and the bound means
// something.
const inFlight = 100

// claimsTopic stands in for the handler of claims: a topic can be made to refuse
// a record, and consumers see what arrives.
const claimsTopic = "ier-claims-handler"

// shardedOutbox is made of two shares.
const shardedOutbox = "wsOutbox"

// chaosCatalog is the default catalog in a hurry: what takes seconds and minutes
// in service takes parts of a second here, so that each way to the end is gone
// within a run.
func chaosCatalog() (*contracts.Catalog, error) {
	standard, err := contracts.DefaultCatalog()
	if err != nil {
		return nil, err
	}
	c, err := standard.WithTopics(map[string]string{"CLAIMS_HANDLER": claimsTopic})
	if err != nil {
		return nil, err
	}
	c.Lanes = maps.Clone(c.Lanes)
	for lane, policy := range c.Lanes {
		policy.InFlight, policy.Window, policy.Run = inFlight, inFlight/2, min(policy.Run, inFlight/2)
		c.Lanes[lane] = policy
	}
	c.Retry.Initial, c.Retry.Max = 100*time.Millisecond, time.Second
	c.Replay.Delays = slices.Repeat([]time.Duration{300 * time.Millisecond}, automaticReplays)
	c.Outboxes = slices.Clone(c.Outboxes)
	for i, o := range c.Outboxes {
		if o.Name == shardedOutbox {
			outbox := *o
			outbox.Shards = 2
			c.Outboxes[i] = &outbox
		}
	}
	return c, nil
}

// duplicateBound is how many messages one fault can have sent twice at most: of
// each outbox and lane, all that fits into the memory of whoever owned it, to
// each target.
func duplicateBound(c *contracts.Catalog) int {
	bound := 0
	for _, o := range c.Outboxes {
		widest := map[contracts.Lane]int{}
		for _, e := range o.Events {
			widest[e.Lane] = max(widest[e.Lane], len(e.Targets))
		}
		for lane, targets := range widest {
			bound += c.Lanes[lane].InFlight * targets
		}
	}
	return bound
}
