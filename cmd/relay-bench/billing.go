package main

import (
	"context"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/rig"
)

// operations are what Firestore bills for.
type operations struct{ reads, writes, deletes float64 }

func (o operations) plus(p operations) operations {
	return operations{o.reads + p.reads, o.writes + p.writes, o.deletes + p.deletes}
}

func (o operations) minus(p operations) operations { return o.plus(p.times(-1)) }

func (o operations) times(f float64) operations {
	return operations{o.reads * f, o.writes * f, o.deletes * f}
}

// measureBilling reads the bill of the outboxes over a drain, over a time in
// which nothing happens, and at a steady rate. What an idle relay costs (its
// canaries and sweeps) is told apart from what a record costs.
func measureBilling(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	scale := b.opts.scale
	return b.onStage(ctx, func(s *stage) (table.Readings, error) {
		if err := s.appendBacklog(ctx, scale.billing, ""); err != nil {
			return nil, err
		}
		m := &meter{stage: s}
		if err := m.start(ctx); err != nil {
			return nil, err
		}
		r, err := b.start(s, who)
		if err != nil {
			return nil, err
		}
		out, err := b.bill(ctx, s, m, r)
		_, stopErr := r.finish()
		if err != nil {
			return nil, joinFirst(err, stopErr)
		}
		return out, stopErr
	})
}

func (b *bench) bill(ctx context.Context, s *stage, m *meter, r *running) (table.Readings, error) {
	scale := b.opts.scale
	if err := s.awaitDelivered(ctx, r, scale.billing); err != nil {
		return nil, err
	}
	drain, err := m.lap(ctx)
	if err != nil {
		return nil, err
	}
	rig.Sleep(ctx, scale.idleFor)
	idle, err := m.lap(ctx)
	if err != nil {
		return nil, err
	}
	book := newBook()
	if err := s.appendPaced(ctx, load{rate: scale.steadyRate, group: 1, book: book}, scale.steadyFor); err != nil {
		return nil, err
	}
	n := len(book.records)
	if err := s.awaitDelivered(ctx, r, scale.billing+n); err != nil {
		return nil, err
	}
	steady, err := m.lap(ctx)
	if err != nil {
		return nil, err
	}
	steady.operations = steady.minus(operations{writes: float64(n)}) // the appends

	perSecond := idle.times(1 / idle.took.Seconds())
	out := table.Readings{}
	drain.minus(perSecond.times(drain.took.Seconds())).times(1/float64(scale.billing)).put(out, keyBilledDrain)
	steady.minus(perSecond.times(steady.took.Seconds())).times(1/float64(n)).put(out, keyBilledSteady)
	perSecond.times(time.Minute.Seconds()).put(out, keyBilledIdle)
	return out, nil
}

// put enters the operations under the name.
func (o operations) put(into table.Readings, name string) {
	into[table.Key(name+" reads")] = max(o.reads, 0)
	into[table.Key(name+" writes")] = max(o.writes, 0)
	into[table.Key(name+" deletes")] = max(o.deletes, 0)
}

// meter reads the bill lap by lap, without what the bench's own counting costs.
type meter struct {
	stage   *stage
	at      time.Time
	billed  operations
	counted int64
}

// lap is what was billed in a time.
type lap struct {
	operations
	took time.Duration
}

func (m *meter) start(ctx context.Context) error {
	_, err := m.lap(ctx)
	return err
}

// lap returns what was billed since the last lap.
func (m *meter) lap(ctx context.Context) (lap, error) {
	billed, err := m.stage.bill(ctx)
	if err != nil {
		return lap{}, err
	}
	now, counted := time.Now(), m.stage.counted
	own := operations{reads: float64(counted - m.counted)}
	out := lap{billed.minus(m.billed).minus(own), now.Sub(m.at)}
	m.at, m.billed, m.counted = now, billed, counted
	return out, nil
}
