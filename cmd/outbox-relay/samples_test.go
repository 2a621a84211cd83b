package main

import (
	"math/rand/v2"
	"time"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/contracts"
)

// sampleOf makes a record of one event type, version v of an aggregate.
func sampleOf(by *contracts.Catalog, random *rand.Rand, outbox, eventType, aggregate string, v int64) *contracts.Record {
	o := *by.Outbox(outbox)
	o.Events = []*contracts.EventRoute{o.Route(eventType)}
	return by.Sample(random, &o, aggregate, v, time.Now())
}

// recordOf is sampleOf for what is appended as it is.
func (c *clinic) recordOf(outbox, eventType, aggregate string, v int64) appender.Record {
	rec := sampleOf(c.catalog, rand.New(rand.NewPCG(rand.Uint64(), 0)), outbox, eventType, aggregate, v)
	return appender.Record{Outbox: outbox, ID: rec.ID, Fields: rec.ProducerFields()}
}
