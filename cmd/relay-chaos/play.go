package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
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
// made, then waits until all is quiet, and judges. The producers go on with a little
// that is sound, until all else has come to its end: records that their target never
// takes are told from an outage only as it takes others.
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
	var all []*producer
	perOutbox := float64(s.opts.rate) / float64(len(s.catalog.Outboxes))
	for i, outbox := range s.catalog.Outboxes {
		p := &producer{
			maker: newMaker(s.catalog, outbox, s.opts.seed, uint64(i)+1), docs: s.clients.Docs, truth: s.truth,
			every: time.Duration(averageCommit / perOutbox * float64(time.Second)),
		}
		all = append(all, p)
		producers.Go(func() error { return p.run(appending) })
	}
	began := time.Now()
	err := s.makeFaults(appending, began, plans)
	if err == nil {
		for _, p := range all {
			p.calm.Store(true)
		}
		s.say("all faults are made and undone, %d records are appended; waiting until all is quiet", s.truth.count())
		_, _, err = s.awaitQuiet(appending, func(path string) bool { return !s.truth.isCalm(path) })
	}
	endAppends()
	if appendErr := producers.Wait(); appendErr != nil { // which ended the faults as well
		err = appendErr
	}
	var e *evidence
	var j *judgement
	if err == nil {
		e, j, err = s.awaitQuiet(working, func(string) bool { return true })
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

// awaitQuiet waits until nothing is left to happen to the records that count, and
// returns what there is then, judged. It gives up on what does not move any more.
func (s *stage) awaitQuiet(ctx context.Context, counts func(path string) bool) (*evidence, *judgement, error) {
	p := progress{began: time.Now(), moved: time.Now()}
	for {
		open, err := s.underWay(ctx, counts)
		if err != nil && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		now := fmt.Sprintf("%d records are on their way, the operator found something in %d of its last looks and decided %d times",
			open, max(quietLooks-s.operator.idle.Load(), 0), s.operator.done.Load())
		if stalled := p.stalled(); err == nil && open == 0 && s.operator.idle.Load() >= quietLooks || stalled {
			e, err := s.readEvidence(ctx)
			if err != nil {
				return nil, nil, err
			}
			j := judge(e)
			found := slices.DeleteFunc(slices.Clone(j.violations), func(v violation) bool { return !counts(v.subject) })
			if len(found) == 0 || stalled {
				return e, j, nil
			}
			now = fmt.Sprintf("%d findings, such as %v", len(found), found[0])
		}
		if p.moves(now) {
			s.say("%s", now)
		}
		if !rig.Sleep(ctx, quietLook) {
			return nil, nil, ctx.Err()
		}
	}
}

// progress is what was last said of a wait.
type progress struct {
	began, moved time.Time
	last         string
}

func (p *progress) stalled() bool {
	return time.Since(p.began) > quietAtMost || time.Since(p.moved) > quietWithin
}

// moves takes in how a wait stands, and reports whether that is news.
func (p *progress) moves(now string) bool {
	if now == p.last {
		return false
	}
	p.last, p.moved = now, time.Now()
	return true
}

// underWay counts the records that count and are neither delivered nor dead nor held.
func (s *stage) underWay(ctx context.Context, counts func(path string) bool) (int, error) {
	n := 0
	for _, o := range s.catalog.Outboxes {
		docs, err := s.clients.Docs.Collection(o.Name).Where(contracts.FieldStatus, "in", []string{string(contracts.Pending), string(contracts.Retrying)}).
			Select().Documents(ctx).GetAll()
		if err != nil {
			return 0, fmt.Errorf("read what is under way of %s: %w", o.Name, err)
		}
		for _, doc := range docs {
			if !isCanary(doc.Ref) && counts(o.Name+"/"+doc.Ref.ID) {
				n++
			}
		}
	}
	return n, nil
}

func isCanary(doc *firestore.DocumentRef) bool { return doc.ID[0] == canaryMark }
