package main

import (
	"context"

	"outboxrelay/cmd/relay-bench/table"
)

// measure is one measurement, made for one side at a time.
type measure struct {
	name         string
	embeddedOnly bool         // it needs the bill
	once         bool         // its figures do not scatter, and it takes long
	apart        bool         // made only when it is named
	sides        []table.Side // whom it is made for, in turn; sideBefore only where one is named
	run          func(context.Context, *bench, table.Side) (table.Readings, error)
}

const (
	// soakName is the measurement that has tables of its own.
	soakName = "soak"
	// startName is the one whose floor does not listen.
	startName = "start"
)

// measures are made in this order.
func measures() []measure {
	all := []table.Side{sideFloor, sidePolled, sideBefore, sideRelay}
	pair := []table.Side{sideFloor, sideRelay}
	live := []table.Side{sideFloor, sideBefore, sideRelay} // pages say nothing of a latency
	return []measure{
		{name: "drain", sides: all, run: measureDrain},
		{name: "order", sides: all, run: measureOrder},
		{name: "rss", sides: pair, once: true, run: measureRSS},
		{name: "memory", sides: []table.Side{sideBefore, sideRelay}, once: true, apart: true, run: measureMemory},
		{name: "steady", sides: live, run: measureSteady},
		{name: "flood", sides: live, run: measureFlood},
		{name: startName, sides: live, run: measureStart},
		{name: "billing", sides: pair, once: true, embeddedOnly: true, run: measureBilling},
		{name: soakName, sides: []table.Side{sideRelay}, once: true, apart: true, run: measureSoak},
	}
}

func measureNames() []string {
	var names []string
	for _, m := range measures() {
		names = append(names, m.name)
	}
	return names
}

// onStage runs f with one side at work on a fresh stage.
func (b *bench) onStage(ctx context.Context, f func(*stage) (table.Readings, error)) (_ table.Readings, err error) {
	s, err := b.openStage(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	return f(s)
}
