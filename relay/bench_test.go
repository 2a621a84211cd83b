package relay

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay/feed"
)

// BenchmarkNewEntry decodes and checks one record.
func BenchmarkNewEntry(b *testing.B) {
	r, catalog := newTestRelay(b)
	o := r.newOutbox(catalog.Shares()[0], always{})
	rec := catalog.Sample(rand.New(rand.NewPCG(1, 1)), o.spec, "agg", 1, time.Now())
	fields := rec.ProducerFields()
	d := Doc{ID: rec.ID, CreatedAt: rec.CreatedAt, Content: told(func() map[string]any { return maps.Clone(fields) })}
	if e := o.newEntry(d, o.intakes[0]); len(e.faults) > 0 {
		b.Fatal(e.faults)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.newEntry(d, o.intakes[0])
	}
}

// BenchmarkLedger takes one record through memory: judged, taken, given its turn,
// delivered, settled, and judged once more by a listener that is late.
func BenchmarkLedger(b *testing.B) {
	l := newLedger()
	in := newIntake(l, contracts.StandardLane, 1000, newMemory(1<<30, 1))
	docs := make([]Doc, 10_000)
	for i := range docs {
		docs[i] = Doc{ID: strconv.Itoa(i), CreatedAt: at(int64(i)), ReadTime: at(int64(i))}
	}
	targets := []string{"A", "B"}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		d := docs[i%len(docs)]
		d.ReadTime = at(int64(i))
		i++
		r := &feed.Record{Sight: d.sight(), Home: in.feed, Targets: slices.Clone(targets)}
		if j, _ := l.judge(d, in); j != feed.Unknown {
			b.Fatal("not new")
		}
		l.step(feed.Batch{Feed: in.feed, Records: []*feed.Record{r}})
		turn := l.becomes(feed.Turn{Record: r})
		l.step(feed.Tried{Record: r, Acked: turn.Open})
		s := &feed.Settlement{Record: r}
		l.step(feed.Settle{Settlement: s})
		l.step(feed.Settled{Settlement: s, At: d.ReadTime})
		l.judge(d, in)
	}
}
