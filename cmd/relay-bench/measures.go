package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// measure is one measurement, made for one side at a time.
type measure struct {
	name         string
	embeddedOnly bool // it needs the bill
	once         bool // its figures do not scatter, and it takes long
	apart        bool // made only when it is named, and of the relay alone
	run          func(context.Context, *bench, side) (readings, error)
}

// measures are made in this order.
func measures() []measure {
	return []measure{
		{name: "drain", run: measureDrain},
		{name: "rss", once: true, run: measureRSS},
		{name: "steady", run: measureSteady},
		{name: "flood", run: measureFlood},
		{name: "billing", once: true, embeddedOnly: true, run: measureBilling},
		{name: "soak", once: true, apart: true, run: measureSoak},
	}
}

func measureNames() []string {
	var names []string
	for _, m := range measures() {
		names = append(names, m.name)
	}
	return names
}

// sides are whom it is made for, in turn.
func (m measure) sides() []side {
	if m.apart {
		return []side{sideRelay}
	}
	return []side{sideFloor, sideRelay}
}

// readings are what one measurement of one side found.
type readings map[key]float64

func (r readings) String() string {
	parts := make([]string, 0, len(r))
	for _, k := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s %s", k, number(r[k])))
	}
	return strings.Join(parts, ", ")
}

// onStage runs f with one side at work on a fresh stage.
func (b *bench) onStage(ctx context.Context, f func(*stage) (readings, error)) (_ readings, err error) {
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
