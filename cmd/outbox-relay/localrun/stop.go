package localrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/shell"
)

// stopDemo ends the producers and the relay. The consumers go on until what the
// relay sent has come, lag samples included, so that the sum is right.
func (l *Run) stopDemo() {
	l.producing.stop()
	l.tenanting.stop()
	l.outing.stop()
	l.troubling.stop()
	l.counting.stop()
	l.serving.stop()
	l.listening.stop()
	l.catchUp()
	if l.consuming == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), samplesWithin)
	defer cancel()
	for t := l.ledger.Totals(); t.Samples < t.Messages && !l.consuming.ended(); t = l.ledger.Totals() {
		if !shell.Pause(ctx, lookEvery) {
			break
		}
	}
	l.consuming.stop()
}

// catchUp lets the apps follow the last signals, which may have come when they
// did not listen any more.
func (l *Run) catchUp() {
	if l.apps == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), samplesWithin)
	defer cancel()
	if err := l.apps.CatchUp(ctx); err != nil {
		l.cfg.Log.Warn("follow the last signals", zap.Error(err))
	}
}

// judge prints the summary. It is an error if records were counted and the
// promise was not kept, or if they were to be and the run was stopped before.
func (l *Run) judge(w io.Writer, counted bool) error {
	summary, err := l.sumUp(counted)
	if err != nil {
		return err
	}
	summary.Print(w)
	if counted && !summary.Kept() {
		return shell.Exit(shell.ExitBroken, fmt.Errorf("the promise is broken: %d records lost, %d messages out of order, %d tokens without their claims",
			summary.Lost(), summary.Totals.OutOfOrder, summary.Stale()))
	}
	if left := summary.Left(l.cfg.Records); !counted && left > 0 {
		return shell.Exit(shell.ExitStopped, fmt.Errorf("stopped before the end: %d of %d records were not delivered", left, l.cfg.Records))
	}
	return nil
}

// sumUp draws the balance. What has not arrived is lost only if it was waited
// for.
func (l *Run) sumUp(counted bool) (demo.Summary, error) {
	s := demo.Summary{
		Took: time.Since(l.began), Totals: l.ledger.Totals(), Interrupted: !counted,
		Bill: demo.RelaysBill(l.Cloud.Firestore.Billing()),
	}
	s.Work = l.work()
	s.Bill.Reads -= l.queue.Reads() // what the demo itself counted
	if h := s.Totals.Handshakes; h != nil {
		s.Bill.Reads -= h.Reads
	}
	ctx, cancel := context.WithTimeout(context.Background(), samplesWithin)
	defer cancel()
	var err error
	if s.Queue, err = l.queue.Count(ctx); err != nil {
		return s, err
	}
	if counted && !s.Kept() {
		s.Missing = l.ledger.Missing(maxMissing)
	}
	return s, nil
}

// maxMissing bounds the records that a summary names.
const maxMissing = 20

// close gives back what was opened. The parts must have been stopped.
func (l *Run) close() error {
	var errs []error
	if l.service != nil && l.serving == nil {
		errs = append(errs, l.service.Close())
	}
	if l.users != nil {
		l.users.HTTP.CloseIdleConnections()
	}
	if l.topics != nil {
		errs = append(errs, l.topics.Close())
	}
	if l.docs != nil {
		errs = append(errs, l.docs.Close())
	}
	if l.Cloud != nil {
		errs = append(errs, l.Cloud.Close())
	}
	l.fail(nil)
	return errors.Join(errs...)
}
