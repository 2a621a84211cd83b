package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts"
)

// The witness tells each of what must not happen from the others, and from what
// may: an order is one aggregate's at one target.
func TestWitnessCatches(t *testing.T) {
	type message struct {
		record               int // 1 to 3: versions of one aggregate; 4: of another
		target, lane, replay string
	}
	const all = 4
	everything := []message{{record: 1}, {record: 2}, {record: 3}, {record: 4}}
	for _, c := range []struct {
		name string
		in   []message
		want tally
	}{
		{"all of it once and in order", everything, tally{Messages: 4}},
		{"one is lost", []message{{record: 1}, {record: 3}, {record: 4}}, tally{Messages: 3, Missing: 1}},
		{"one comes twice", append(everything, message{record: 2}), tally{Messages: 5, Duplicates: 1}},
		{"one comes late", []message{{record: 2}, {record: 1}, {record: 3}, {record: 4}}, tally{Messages: 4, Disordered: 1}},
		{"one comes late by another lane", []message{{record: 2}, {record: 1, lane: "other"}, {record: 3}, {record: 4}}, tally{Messages: 4, Disordered: 1}},
		{"one is replayed late", []message{{record: 2}, {record: 1, replay: "id"}, {record: 3}, {record: 4}}, tally{Messages: 4, Replays: 1}},
		{"one goes where it should not", append(everything, message{record: 1, target: "stray"}), tally{Messages: 5, Strays: 1}},
		{"one is of another test", append(everything, message{record: 5}), tally{Messages: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWitness()
			for n := range all {
				w.expect(&contracts.Record{IdempotencyKey: strconv.Itoa(n + 1), Outbox: "o"}, []string{"target"})
				w.appended(&contracts.Record{IdempotencyKey: strconv.Itoa(n + 1)})
			}
			w.expect(&contracts.Record{IdempotencyKey: "never appended"}, []string{"target"})
			w.forget(&contracts.Record{IdempotencyKey: "never appended"})
			for _, m := range c.in {
				aggregate := "a"
				if m.record == all {
					aggregate = "b"
				}
				if m.target == "" {
					m.target = "target"
				}
				w.arrived(map[string]string{
					contracts.AttrIdempotencyKey: strconv.Itoa(m.record), contracts.AttrAggregateVersion: strconv.Itoa(m.record),
					contracts.AttrAggregateID: aggregate, contracts.AttrOutbox: "o", contracts.AttrTarget: m.target,
					contracts.AttrLane: m.lane, contracts.AttrReplay: m.replay,
				})
			}
			c.want.Records = all
			if diff := cmp.Diff(c.want, w.tally(), cmpopts.IgnoreTypes(time.Duration(0))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := len(w.disorder()); got != c.want.Disordered {
				t.Errorf("it tells %d that came late, want %d", got, c.want.Disordered)
			}
			if got := len(w.repeated()); got != c.want.Duplicates {
				t.Errorf("it tells %d that came twice, want %d", got, c.want.Duplicates)
			}
		})
	}
}
