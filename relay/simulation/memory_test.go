package simulation

import (
	"time"

	"outboxrelay/contracts"
)

// watchMemory holds what the processes have in memory to its bound.
func (w *world) watchMemory() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.over:
			return
		}
		for _, l := range w.living() {
			for _, o := range l.relay.Health().Outboxes {
				if most := w.mostInMemory(o.Outbox); o.Here && o.InMemory > most {
					w.judge.fault("memory", "", "%s has %d records of %s in memory, at most %d may be", l.who, o.InMemory, o.Outbox, most)
				}
			}
		}
	}
}

// restingFactor bounds what waits for retries, as a multiple of a lane's inFlight.
const restingFactor = 4

// mostInMemory is how many records of an outbox may be in memory: for each lane
// those that run and those that wait for a retry, and what no lane brings.
func (w *world) mostInMemory(outbox string) int {
	most := 0
	for _, lane := range contracts.Lanes() {
		most += restingFactor*w.catalog.Lanes[lane].InFlight + 2
	}
	w.db.read(outbox, func(docs map[string]*document) {
		for _, d := range docs {
			if s := statusOf(d); s == contracts.Retrying || s == "" || !contracts.Lane(textOf(d.fields[contracts.FieldLane])).Valid() {
				most++
			}
		}
	})
	return most
}
