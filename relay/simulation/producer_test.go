package simulation

import (
	"fmt"
	"hash/fnv"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// append returns the write that appends a record whose producer's request came to
// the server at createdAt.
func (w *world) append(p planned, createdAt time.Time) dlq.Write {
	spec := w.catalog.Outbox(p.Outbox)
	route := spec.Route(p.Type)
	lane := route.Lane
	if p.Type == "Opened" {
		lane = contracts.BackgroundLane // that its outbox left
	}
	event := eventID(p.key())
	rec := &contracts.Record{
		Outbox: p.Outbox, EventID: event, EventType: p.Type, EventVersion: 1, AggregateID: p.Aggregate, AggregateVersion: p.Version,
		IdempotencyKey: contracts.IdempotencyKey(event, p.Aggregate, p.Version), TraceID: "trace-" + p.Outbox + "-" + p.Aggregate, Lane: lane, Tier: route.Tier,
		OccurredAt: createdAt, CreatedAt: createdAt.Truncate(time.Millisecond), Payload: map[string]any{"n": p.Version},
	}
	if spec.Shards > 1 {
		rec.Shard = new(int64(contracts.ShardOf(p.Aggregate, spec.Shards)))
	}
	fields := rec.ProducerFields()
	switch p.Defect {
	case noLane:
		delete(fields, contracts.FieldLane)
	case strangeLane:
		fields[contracts.FieldLane] = "FAST_LANE"
	case noType:
		fields[contracts.FieldEventType] = "Unheard"
	case noStatus:
		delete(fields, contracts.FieldStatus)
	case retrying:
		fields[contracts.FieldStatus] = string(contracts.Retrying)
	}
	return dlq.Write{Collection: p.Outbox, ID: contracts.DocumentID(rec.IdempotencyKey), Op: dlq.OpCreate, Fields: fields}
}

// eventID is a UUID that follows from a record's name.
func eventID(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := h.Sum64()
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(sum>>32), uint16(sum>>16), sum&0xffff_ffff_ffff)
}

// path returns where a record's document stands.
func (w *world) path(p planned) string {
	write := w.append(p, time.Time{})
	return write.Collection + "/" + write.ID
}

// backlog appends what was there before any instance, as if an hour ago.
func (w *world) backlog() {
	at := w.db.now().Add(-time.Hour)
	for _, a := range w.plan.Appends {
		if a.At < 0 {
			at = at.Add(3 * time.Millisecond)
			w.commitAppend(a, at)
		}
	}
}

func (w *world) commitAppend(a appending, createdAt time.Time) {
	writes := make([]dlq.Write, len(a.Records))
	for i, p := range a.Records {
		writes[i] = w.append(p, createdAt)
	}
	w.steps.Add(1)
	w.count("append")
	if _, err := w.db.commit("producer", writes, w.chance.of("append").hit(w.plan.Equal)); err != nil {
		panic("a producer's commit is refused: " + err.Error())
	}
}

// produce appends what comes live, each commit when those before it of the same
// aggregates are through.
func (w *world) produce() {
	through := make(map[string]chan struct{})
	for _, a := range w.plan.Appends {
		if a.At < 0 {
			continue
		}
		var before []chan struct{}
		done := make(chan struct{})
		for _, p := range a.Records {
			key := p.Outbox + "/" + p.Aggregate
			if c := through[key]; c != nil && c != done {
				before = append(before, c)
			}
			through[key] = done
		}
		w.producers.Go(func() {
			defer close(done)
			time.Sleep(time.Until(w.began.Add(a.At)))
			for _, c := range before {
				<-c
			}
			createdAt := w.db.now()
			time.Sleep(a.Late + time.Millisecond) // the next of its aggregates comes a little later
			w.commitAppend(a, createdAt)
			time.Sleep(time.Millisecond)
		})
	}
}

// kept are records that were delivered long ago and expire in the course of the
// run.
func (w *world) kept() {
	d := w.chance.of("kept")
	for n := range w.plan.Kept {
		p := planned{Outbox: "orders", Type: "Placed", Aggregate: "kept", Version: int64(n + 1)}
		write := w.append(p, w.db.now().Add(-24*time.Hour))
		write.Fields[contracts.FieldStatus] = string(contracts.Delivered)
		write.Fields[contracts.FieldExpireAt] = w.db.now().Add(d.between(0, w.plan.Span))
		if _, err := w.db.commit("producer", []dlq.Write{write}, false); err != nil {
			panic("what was kept is refused: " + err.Error())
		}
	}
}
