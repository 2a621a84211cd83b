package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// soakRates are tried in turn, in records a second over all outboxes.
var soakRates = []int{100, 200, 400, 600, 800, 1200, 1600, 2400, 3200}

const (
	// soakTries is how often a rate may fail. A busy moment of a shared machine
	// is not its bound.
	soakTries = 2
	// heldShare of a rate is reached when it is held, by the producers and by
	// what is delivered of each lane.
	heldShare = 0.97
	// backlogNoise is the growth, in records, that a steady backlog shows over a
	// step by chance.
	backlogNoise = 30
	// stepLead is the part of a step before its backlog is looked at: at first it
	// grows from nothing to what is always under way.
	stepLead = 0.2
	// backlogPoints are taken of a step's backlog.
	backlogPoints = 40
)

// highestHeld is the highest rate that one relay holds on a fresh cloud.
func (b *bench) highestHeld(ctx context.Context) (int, error) {
	held := 0
	err := b.onSoaking(ctx, func(ctx context.Context, k *soaking) error {
		for _, rate := range soakRates {
			ok, err := b.tryRate(ctx, k, rate)
			if err != nil || !ok {
				return err
			}
			held = rate
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("find the highest rate: %w", err)
	case held == 0:
		return 0, fmt.Errorf("find the highest rate: not even %d records/s are held", soakRates[0])
	}
	return held, nil
}

func (b *bench) tryRate(ctx context.Context, k *soaking, rate int) (bool, error) {
	sla := b.catalog.Lanes[contracts.CriticalLane].SLA
	for range soakTries {
		s, err := k.step(ctx, rate, b.opts.scale.soakStep)
		if err != nil {
			return false, err
		}
		fault := s.fault(sla)
		if fault == "" {
			b.say("soak: %d records/s are held: %v", rate, s)
			return true, nil
		}
		b.say("soak: %d records/s are not held, as %s: %v", rate, fault, s)
	}
	return false, nil
}

// soakStep is what came of a rate.
type soakStep struct {
	rate     int
	took     time.Duration
	reached  float64 // records a second that the producers appended
	lanes    map[contracts.Lane]laneStep
	critical float64 // p99 lag of CRITICAL in ms
}

// laneStep is what came of a rate in one lane, in records a second.
type laneStep struct{ appended, growth float64 }

// step appends at the rate and then waits until all is delivered, so that the
// next step begins with nothing.
func (k *soaking) step(ctx context.Context, rate int, d time.Duration) (soakStep, error) {
	began := time.Now()
	if err := k.stage.appendPaced(ctx, load{rate: rate, group: 1, book: k.book}, d); err != nil {
		return soakStep{}, err
	}
	took := time.Since(began)
	if err := k.consumer.collectRest(ctx); err != nil {
		return soakStep{}, err
	}
	deliveries := k.book.harvest()
	k.appended += len(deliveries)
	if err := k.stage.awaitDelivered(ctx, k.relay, k.appended); err != nil {
		return soakStep{}, err
	}
	return newSoakStep(rate, began, took, deliveries), nil
}

func newSoakStep(rate int, began time.Time, took time.Duration, deliveries []delivery) soakStep {
	s := soakStep{
		rate: rate, took: took, reached: float64(len(deliveries)) / took.Seconds(), lanes: map[contracts.Lane]laneStep{},
		critical: lagsOf(deliveries, contracts.CriticalLane).quantile(99),
	}
	lead := time.Duration(stepLead * float64(took))
	every := (took - lead) / backlogPoints
	for _, lane := range contracts.Lanes() {
		of := ofLane(deliveries, lane)
		s.lanes[lane] = laneStep{
			appended: float64(len(of)) / took.Seconds(),
			growth:   slope(backlogs(of, began.Add(lead), every, backlogPoints)) / every.Seconds(),
		}
	}
	return s
}

// fault is why the rate was not held, and "" when it was.
func (s soakStep) fault(sla time.Duration) string {
	var faults []string
	if s.reached < heldShare*float64(s.rate) {
		faults = append(faults, fmt.Sprintf("producers reached %.0f/s", s.reached))
	}
	for _, lane := range contracts.Lanes() {
		of := s.lanes[lane]
		if of.growth > max(backlogNoise/s.took.Seconds(), (1-heldShare)*of.appended) {
			faults = append(faults, fmt.Sprintf("backlog of %s grew by %.1f/s", lane, of.growth))
		}
	}
	if s.critical >= float64(sla.Milliseconds()) {
		faults = append(faults, fmt.Sprintf("p99 lag of %s was %.0f ms", contracts.CriticalLane, s.critical))
	}
	return strings.Join(faults, ", ")
}

func (s soakStep) String() string {
	growth := make([]string, 0, len(s.lanes))
	for _, lane := range contracts.Lanes() {
		growth = append(growth, fmt.Sprintf("%s %.1f/s", lane, s.lanes[lane].growth))
	}
	return fmt.Sprintf("%.0f/s appended, CRITICAL p99 %.0f ms, growth of backlogs %s", s.reached, s.critical, strings.Join(growth, ", "))
}

// backlogs are how many records were appended and not yet published, at n times.
func backlogs(deliveries []delivery, from time.Time, every time.Duration, n int) []float64 {
	appended, published := make([]time.Time, len(deliveries)), make([]time.Time, len(deliveries))
	for i, d := range deliveries {
		appended[i], published[i] = d.at, d.at.Add(d.lag)
	}
	slices.SortFunc(appended, time.Time.Compare)
	slices.SortFunc(published, time.Time.Compare)
	out := make([]float64, n)
	for i := range out {
		at := from.Add(time.Duration(i) * every)
		in, _ := slices.BinarySearchFunc(appended, at, time.Time.Compare)
		gone, _ := slices.BinarySearchFunc(published, at, time.Time.Compare)
		out[i] = float64(in - gone)
	}
	return out
}

// slope is by how much the values rise from one to the next: that of the line
// through them with the least squares.
func slope(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	mean, middle := 0.0, (n-1)/2
	for _, v := range values {
		mean += v / n
	}
	var together, alone float64
	for i, v := range values {
		dx := float64(i) - middle
		together += dx * (v - mean)
		alone += dx * dx
	}
	return together / alone
}
