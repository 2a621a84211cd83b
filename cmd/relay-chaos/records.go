package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"outboxrelay/contracts"
)

const (
	// aggregatesAtOnce of an outbox get records at the same time. The window
	// slides: an aggregate that stays frozen would else swallow ever more.
	aggregatesAtOnce  = 12
	commitsPerSlide   = 6
	recordsPerCommit  = 4   // at most
	shareMarked       = 0.1 // of records that are to be refused in one way or another
	shareFlaky        = 0.6 // of those that are refused and then taken: what a retry mark says must hold against a late one
	shareOfOneSubject = 0.5 // of commits that hold several versions of one aggregate
)

// maker makes the records of one outbox. Two with the same seed make the same.
type maker struct {
	catalog  *contracts.Catalog
	outbox   *contracts.Outbox
	family   string // of aggregates; outboxes of one family share them
	random   *rand.Rand
	commits  int
	versions map[string]int64 // of the last record, by aggregate
	calm     bool             // what it makes from now on is sound, and of aggregates of its own
}

// families of outboxes that speak of the same aggregates, so that a freeze that
// one of them causes holds the records of both.
var families = map[string]string{"accOutbox": "account", "skillOutbox": "account"}

func newMaker(catalog *contracts.Catalog, outbox *contracts.Outbox, seed, stream uint64) *maker {
	family := families[outbox.Name]
	if family == "" {
		family = outbox.Name
	}
	return &maker{
		catalog: catalog, outbox: outbox, family: family,
		random: rand.New(rand.NewPCG(seed, stream)), versions: map[string]int64{},
	}
}

// entry is a record and the document that it is appended as.
type entry struct {
	*record
	fields map[string]any
}

// commit makes the records of the next commit: several versions of one
// aggregate, or one each of several.
func (m *maker) commit() []entry {
	first := m.commits / commitsPerSlide
	m.commits++
	n := 1 + m.random.IntN(recordsPerCommit)
	one := m.random.Float64() < shareOfOneSubject
	at := m.random.IntN(aggregatesAtOnce)
	out := make([]entry, n)
	for i := range out {
		if !one && i > 0 {
			at = (at + 1) % aggregatesAtOnce
		}
		name := fmt.Sprintf("%s-%d", m.family, first+at)
		if m.calm {
			name = fmt.Sprintf("%s-calm-%d", m.outbox.Name, first+at)
		}
		out[i] = m.next(name)
	}
	return out
}

func (m *maker) next(aggregate string) entry {
	m.versions[aggregate]++
	rec := m.catalog.Sample(m.random, m.outbox, aggregate, m.versions[aggregate], time.Now())
	r := &record{
		outbox: rec.Outbox, id: rec.ID, eventID: rec.EventID, traceID: rec.TraceID, key: rec.IdempotencyKey,
		aggregate: aggregate, version: rec.AggregateVersion, lane: rec.Lane, tier: rec.Tier,
		targets: m.outbox.RouteOf(rec.EventType, rec.EventVersion).Targets, fate: fateSound,
	}
	e := entry{r, rec.ProducerFields()}
	if r.calm = m.calm; r.calm {
		return e
	}
	if m.random.Float64() < shareMarked {
		m.mark(e)
	}
	return e
}

// mark gives a record a fate.
func (m *maker) mark(e entry) {
	fates := []fate{fateExhausted, fatePermanent, fateBroken}
	e.fate = fates[m.random.IntN(len(fates))]
	if m.random.Float64() < shareFlaky {
		e.fate = fateFlaky
	}
	if e.fate == fateBroken {
		breaks := breakages[m.random.IntN(len(breakages))]
		breaks(e.fields)
		return
	}
	e.refusing = e.targets[m.random.IntN(len(e.targets))]
	e.refusals = 1 + m.random.IntN(2)
	e.replayRefusals = []int{0, 0, 1, 2, 7}[m.random.IntN(5)] // 7: more than a schedule has
}

// breakages are breaches of the contract that leave outbox, key, tier and
// aggregate readable. Some of them no listener can see.
var breakages = []func(map[string]any){
	func(f map[string]any) { delete(f, contracts.FieldTraceID) },
	func(f map[string]any) { delete(f, contracts.FieldCreatedAt) },
	func(f map[string]any) { f[contracts.FieldAggregateVersion] = "three" },
	func(f map[string]any) { f[contracts.FieldLane] = "EXPRESS_LANE" },
	func(f map[string]any) { f[contracts.FieldOccurredAt] = "yesterday" },
	func(f map[string]any) { f[contracts.FieldPayload] = "a text" },
}
