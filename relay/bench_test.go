package relay

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// BenchmarkNewEntry decodes and checks one record.
func BenchmarkNewEntry(b *testing.B) {
	r, catalog := newTestRelay(b)
	o := r.newOutbox(catalog.Shares()[0], always{})
	rec := catalog.Sample(rand.New(rand.NewPCG(1, 1)), o.spec, "agg", 1, time.Now())
	fields := rec.ProducerFields()
	d := Doc{ID: rec.ID, CreatedAt: rec.CreatedAt, Fields: func() map[string]any { return maps.Clone(fields) }}
	if e := o.newEntry(d, o.feeds[0]); len(e.faults) > 0 {
		b.Fatal(e.faults)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.newEntry(d, o.feeds[0])
	}
}

// BenchmarkLedger takes one record through memory: considered, admitted,
// split, removed, and considered once more by a listener that is late.
func BenchmarkLedger(b *testing.B) {
	f := newFeed(newLedger(), contracts.StandardLane, 1000, newMemory(1<<30, 1))
	docs := make([]Doc, 10_000)
	for i := range docs {
		docs[i] = Doc{ID: strconv.Itoa(i), CreatedAt: at(int64(i)), ReadTime: at(int64(i))}
	}
	route := &contracts.EventRoute{Targets: []string{"A", "B"}}
	rec := &contracts.Record{}
	_, generation := f.start()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		d := docs[i%len(docs)]
		d.ReadTime = at(int64(i))
		i++
		e := &entry{feed: f, doc: d, route: route, rec: rec}
		if c, _ := f.ledger.consider(d); c != considerTake || f.admit(e, generation) != admitted {
			b.Fatal("not admitted")
		}
		f.split(e)
		f.ledger.remove(e, d.ReadTime)
		f.ledger.consider(d)
	}
}
