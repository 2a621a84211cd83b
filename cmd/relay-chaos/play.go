package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
)

const (
	warmWithin = 4 * time.Minute // until every outbox has delivered once: the emulators' Java starts slow
	// quietWithin bounds the wait for the end without any progress; what is
	// open after it is found by the judge.
	quietWithin = 2 * time.Minute
	quietAtMost = 10 * time.Minute // with progress
	quietLook   = time.Second
	quietLooks  = 3 // of the operator, in a row, with nothing to decide
)

// play lets producers, consumers and the operator work while the faults are
// made, then waits until all is quiet, and judges.
func (s *stage) play(ctx context.Context, plans []planned) (*evidence, *judgement, error) {
	g, working := errgroup.WithContext(ctx)
	working, endWork := context.WithCancel(working)
	defer endWork()
	g.Go(func() error { return s.consumers.run(working) })
	g.Go(func() error { return s.operator.run(working) })
	g.Go(func() error { return s.leases.run(working) })
	appending, endAppends := context.WithCancel(working)
	defer endAppends()
	producers, appending := errgroup.WithContext(appending)
	perOutbox := float64(s.opts.rate) / float64(len(s.catalog.Outboxes))
	for i, outbox := range s.catalog.Outboxes {
		p := &producer{
			maker: newMaker(s.catalog, outbox, s.opts.seed, uint64(i)+1), docs: s.clients.Docs, truth: s.truth,
			every: time.Duration(averageCommit / perOutbox * float64(time.Second)),
		}
		producers.Go(func() error { return p.run(appending) })
	}
	began := time.Now()
	err := s.makeFaults(appending, began, plans)
	if err == nil {
		s.say("all faults are made and undone, %d records are appended; waiting until all is quiet", s.truth.count())
	}
	endAppends()
	if appendErr := producers.Wait(); appendErr != nil { // which ended the faults as well
		err = appendErr
	}
	var e *evidence
	var j *judgement
	if err == nil {
		e, j, err = s.awaitQuiet(working)
	}
	endWork()
	if workErr := g.Wait(); err == nil {
		err = workErr
	}
	return e, j, err
}

func (s *stage) makeFaults(ctx context.Context, began time.Time, plans []planned) error {
	start := s.campaign.begin(kindStart, 0)
	start.recovery = s.awaitRecoveryWithin(ctx, began, warmWithin)
	start.ended = time.Now()
	for outbox, took := range start.recovery {
		if took >= warmWithin {
			return fmt.Errorf("warm up: nothing of %s was delivered within %v", outbox, warmWithin)
		}
	}
	s.say("every outbox delivers; %d faults follow", len(plans))
	return s.campaign.run(ctx, plans)
}

// awaitQuiet waits until nothing is left to happen and returns what there is
// then, judged. It gives up on what does not move any more.
func (s *stage) awaitQuiet(ctx context.Context) (*evidence, *judgement, error) {
	var last string
	began, moved := time.Now(), time.Now()
	for {
		open, err := s.underWay(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		now := fmt.Sprintf("%d records are on their way, the operator found something in %d of its last looks and decided %d times",
			open, max(quietLooks-s.operator.idle.Load(), 0), s.operator.done.Load())
		stalled := time.Since(moved) > quietWithin || time.Since(began) > quietAtMost
		if err == nil && open == 0 && s.operator.idle.Load() >= quietLooks || stalled {
			e, err := s.readEvidence(ctx)
			if err != nil {
				return nil, nil, err
			}
			j := judge(e)
			if j.sound() || stalled {
				return e, j, nil
			}
			now = fmt.Sprintf("%d findings, such as %v", len(j.violations), j.violations[0])
		}
		if now != last {
			last, moved = now, time.Now()
			s.say("%s", now)
		}
		if !sleep(ctx, quietLook) {
			return nil, nil, ctx.Err()
		}
	}
}

// underWay counts the records that are neither delivered nor dead nor held.
func (s *stage) underWay(ctx context.Context) (int, error) {
	n := 0
	for _, o := range s.catalog.Outboxes {
		docs, err := s.clients.Docs.Collection(o.Name).Where(contracts.FieldStatus, "in", []string{string(contracts.Pending), string(contracts.Retrying)}).
			Select().Documents(ctx).GetAll()
		if err != nil {
			return 0, fmt.Errorf("read what is under way of %s: %w", o.Name, err)
		}
		for _, doc := range docs {
			if !isCanary(doc.Ref) {
				n++
			}
		}
	}
	return n, nil
}

func isCanary(doc *firestore.DocumentRef) bool { return doc.ID[0] == canaryMark }
