package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"outboxrelay/contracts"
)

const (
	aggregates   = 500 // over all outboxes
	payloadBytes = 300 // of a payload as JSON, roughly
	dataSeed     = 20_000
)

// records makes sample records. Two of them over one catalog make the same
// records, so that floor and relay are given the same work.
type records struct {
	catalog  *contracts.Catalog
	random   *rand.Rand
	outboxes map[contracts.Lane][]*contracts.Outbox // that declare the lane; "": all
	turns    map[contracts.Lane]int                 // records made, by the lane asked for
	versions map[string]int64                       // of the last record, by aggregate
	now      time.Time
}

func newRecords(catalog *contracts.Catalog) *records {
	r := &records{
		catalog: catalog, random: rand.New(rand.NewPCG(dataSeed, dataSeed)),
		outboxes: map[contracts.Lane][]*contracts.Outbox{"": catalog.Outboxes},
		turns:    map[contracts.Lane]int{}, versions: map[string]int64{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, outbox := range catalog.Outboxes {
		for _, lane := range outbox.Lanes() {
			r.outboxes[lane] = append(r.outboxes[lane], outbox)
		}
	}
	return r
}

// next makes a record of the lane, "" for any. The outboxes take turns, and the
// aggregates of each.
func (r *records) next(lane contracts.Lane) *contracts.Record {
	outboxes := r.outboxes[lane]
	turn := r.turns[lane]
	r.turns[lane]++
	outbox := outboxes[turn%len(outboxes)]
	perOutbox := aggregates / len(r.catalog.Outboxes)
	id := fmt.Sprintf("%s-%03d", outbox.Name, turn/len(outboxes)%perOutbox)
	for {
		rec := r.catalog.Sample(r.random, outbox, id, r.versions[id]+1, r.now)
		if lane != "" && rec.Lane != lane {
			continue
		}
		r.versions[id]++
		pad(rec, outbox.RouteOf(rec.EventType, rec.EventVersion))
		return rec
	}
}

// take makes n records.
func (r *records) take(n int, lane contracts.Lane) []*contracts.Record {
	out := make([]*contracts.Record, n)
	for i := range out {
		out[i] = r.next(lane)
	}
	return out
}

// pad brings the payload to payloadBytes, unless a schema judges what is in it.
func pad(rec *contracts.Record, route *contracts.EventRoute) {
	if route.Schema != nil {
		return
	}
	body, err := json.Marshal(rec.Payload)
	if err != nil {
		panic(fmt.Sprintf("encode sample payload: %v", err)) // samples hold nothing that JSON cannot carry
	}
	const key = `,"note":""`
	if room := payloadBytes - len(body) - len(key); room > 0 {
		rec.Payload["note"] = strings.Repeat("lorem ", room/6+1)[:room]
	}
}
