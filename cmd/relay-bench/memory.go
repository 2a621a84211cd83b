package main

import (
	"context"
	"fmt"
	"strings"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

const (
	// largePayload is near the most that a document can hold, 1 MiB.
	largePayload = 900 << 10
	// largeCommit keeps a commit of large records below Firestore's 10 MiB.
	largeCommit = 8
)

// measureMemory finds the peak of a drain for each of a list of backlogs, the
// last of them of large payloads. A drain ends after some of its records: what a
// side would keep of a huge backlog, it has by then. Each backlog gets a fresh
// process, so that its peak is that of the backlog.
func measureMemory(ctx context.Context, b *bench, who table.Side) (table.Readings, error) {
	scale, out := b.opts.scale, table.Readings{}
	for _, n := range scale.backlogs {
		backlog := fmt.Sprintf("backlog of %d", n)
		peak, err := b.peakOfDrain(ctx, who, backlog, n, func(s *stage) error { return s.appendBacklog(ctx, n, "") })
		if err != nil {
			return nil, err
		}
		out[keyMemory(n)] = peak
	}
	backlog := fmt.Sprintf("backlog of %d large records", scale.large)
	peak, err := b.peakOfDrain(ctx, who, backlog, scale.large, func(s *stage) error { return s.appendLarge(ctx, scale.large) })
	if err != nil {
		return nil, err
	}
	out[keyMemoryLarge] = peak
	return out, nil
}

// peakOfDrain is in MiB. backlog tells what fill appends, n records.
func (b *bench) peakOfDrain(ctx context.Context, who table.Side, backlog string, n int, fill func(*stage) error) (float64, error) {
	var peak float64
	_, err := b.onStage(ctx, func(s *stage) (table.Readings, error) {
		if err := fill(s); err != nil {
			return nil, err
		}
		line, err := b.drain(ctx, s, who, min(n, b.opts.scale.deliver))
		if err != nil {
			return nil, err
		}
		peak = mebibytes(line.Peak())
		return nil, nil
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", backlog, err)
	}
	b.say("memory, %s, %s: peak %s MiB", who, backlog, table.Number(peak))
	return peak, nil
}

// appendLarge appends n records with payloads of largePayload, of event types
// whose payloads no schema judges.
func (s *stage) appendLarge(ctx context.Context, n int) error {
	note := strings.Repeat("lorem ", largePayload/6+1)[:largePayload]
	recs := make([]*contracts.Record, 0, n)
	for len(recs) < n {
		if rec := s.nextRecord(""); s.route(rec).Schema == nil {
			rec.Payload["note"] = note
			recs = append(recs, rec)
		}
	}
	if err := s.appendAll(ctx, recs, largeCommit); err != nil {
		return err
	}
	rig.Sleep(ctx, backlogAge)
	return nil
}
