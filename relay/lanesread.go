package relay

import (
	"slices"
	"sync"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// An outbox reads the lanes that it declares. A record may stand in another one, as
// its event has moved and its old lane is left: that lane is read like them once the
// first such record shows, until the share is given back. Before that it costs neither
// a listener nor a read.

// newIntakes makes one for each lane, and has those of the declared lanes read.
func (o *outbox) newIntakes(memories map[contracts.Lane]*memory) {
	declared := o.spec.Lanes()
	for _, lane := range declared {
		o.intakes = append(o.intakes, newIntake(o.ledger, lane, o.catalog.Lanes[lane].InFlight, memories[lane]))
		o.intakes[len(o.intakes)-1].read()
	}
	for _, lane := range contracts.Lanes() {
		if !slices.Contains(declared, lane) {
			o.intakes = append(o.intakes, newIntake(o.ledger, lane, o.catalog.Lanes[lane].InFlight, memories[lane]))
		}
	}
}

// read has an intake's lane read, and reports whether it was not before.
func (in *intake) read() (news bool) {
	in.begin.Do(func() { close(in.open); news = true })
	return news
}

// isRead reports whether its lane is read.
func (in *intake) isRead() bool {
	select {
	case <-in.open:
		return true
	default:
		return false
	}
}

// read has a lane read from now on in which records were seen.
func (o *outbox) read(in *intake) {
	if in.read() {
		o.health.reads(in.lane)
		o.log.Info("records stand in a lane that the outbox does not declare: it is read, too", zap.String("lane", string(in.lane)))
		signal(o.opened)
	}
}

// lanesRead are the lanes that are read.
func (o *outbox) lanesRead() (lanes []contracts.Lane) {
	for _, in := range o.intakes {
		if in.isRead() {
			lanes = append(lanes, in.lane)
		}
	}
	return lanes
}

// newReader makes the reader of an intake. An outbox that begins waits for those of
// its declared lanes alone.
func (o *outbox) newReader(in *intake) *reader {
	r := &reader{
		outbox: o, intake: in, window: o.catalog.Lanes[in.lane].Window, scan: o.laneScan(in),
		begun: sync.OnceFunc(o.begun.pages.Done), looked: sync.OnceFunc(o.backlog.ends),
		log: o.log.With(zap.String("lane", string(in.lane))),
	}
	if !slices.Contains(o.spec.Lanes(), in.lane) {
		r.late, r.begun = true, func() {}
	}
	return r
}
