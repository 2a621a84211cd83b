package cost

import (
	"math"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
)

const (
	// SequentialWrites is Firestore's published limit, a second, on writes to a
	// collection whose documents hold sequential values in an indexed field. A
	// backlog of one lane and shard is worked off as fast: each record is marked.
	SequentialWrites = 500
	// writesOfRecord are those that touch a record's entry in its lane's index: the
	// append, and the mark or delete that takes it out again.
	writesOfRecord = 2
	// RecordsOfSequence is how many records a second one lane of one shard takes
	// in and has marked.
	RecordsOfSequence = SequentialWrites / writesOfRecord
	// maxShards is what a catalog takes for one outbox.
	maxShards = 64
)

// Shards is what an outbox needs so that none of its sequential indexes is
// written more often than Firestore's limit allows.
//
// The index of the lanes begins with status, shard and lane, so its sequential
// part, createdAt, is one for each shard and lane. An index that begins with a
// sequential field is one for the whole collection: it has to be exempt.
type Shards struct {
	Outbox   string         `json:"outbox"`
	Lane     contracts.Lane `json:"busiestLane"`
	Writes   float64        `json:"writesPerSecond"` // to the busiest lane's index, with one shard
	Declared int            `json:"declared"`        // by the catalog
	Needed   int            `json:"needed"`
	// Hot are fields that have a sequential index of their own although the
	// outbox takes more writes than such an index bears.
	Hot []string `json:"hotFields,omitempty"`
	// Beyond: more shards are needed than a catalog can declare.
	Beyond bool `json:"beyondLimit"`
}

// rising are the fields of a record whose values rise from one to the next.
var rising = []string{contracts.FieldOccurredAt, contracts.FieldCreatedAt, contracts.FieldDeliveredAt, contracts.FieldExpireAt}

// shardsOf looks at the flows of one outbox, of whose records some fail at first.
func shardsOf(o *contracts.Outbox, flows []Flow, failing float64) Shards {
	s := Shards{Outbox: o.Name, Declared: max(o.Shards, 1), Needed: 1}
	for _, f := range flows {
		if writes := f.Rate * (writesOfRecord + failing); f.Outbox == o.Name && writes > s.Writes {
			s.Lane, s.Writes = f.Lane, writes
		}
	}
	s.Needed = max(1, int(math.Ceil(s.Writes/SequentialWrites)))
	if s.Needed > maxShards {
		s.Needed, s.Beyond = maxShards, true
	}
	return s
}

// hotFields are the rising fields of an outbox that have an index of their own.
func hotFields(file indexes.File, outbox string) (fields []string) {
	for _, field := range rising {
		if ordered, _ := singles(file, outbox, field); ordered > 0 {
			fields = append(fields, field)
		}
	}
	return fields
}

// withShards is the catalog with as many shards as are declared or needed,
// whichever is more.
func withShards(c *contracts.Catalog, needed []Shards) *contracts.Catalog {
	out := *c
	out.Outboxes = make([]*contracts.Outbox, len(c.Outboxes))
	for n, o := range c.Outboxes {
		more := *o
		more.Shards = max(needed[n].Declared, needed[n].Needed)
		out.Outboxes[n] = &more
	}
	return &out
}
