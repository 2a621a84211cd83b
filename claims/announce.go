package claims

import (
	"context"
	"fmt"
)

// announce tells the account's clients of the snapshot: by its signal document,
// by a message, and by the note that this was done.
func (r *refresh) announce(ctx context.Context) error {
	due, err := r.writeSignal(ctx)
	if err != nil || !due {
		return err
	}
	signal, version := r.docs.signal, r.docs.snapshot.ClaimsVersion
	data, attributes, err := signal.message(r.docs.snapshot.IdempotencyKey)
	if err != nil {
		return fmt.Errorf("encode signal: %w", err)
	}
	if err := r.handler.cfg.Signals.PublishOrdered(ctx, r.account, data, attributes); err != nil {
		return fmt.Errorf("publish signal: %w", err)
	}
	r.did = true
	r.handler.metrics.signals.Inc()
	return r.note(ctx, func(s *Snapshot) { s.Announced, s.Before = version, nil })
}

// writeSignal makes the signal document tell of the snapshot, and reports
// whether that is still to be published. A signal of a newer snapshot stays.
func (r *refresh) writeSignal(ctx context.Context) (due bool, err error) {
	for range maxRounds {
		s := r.docs.snapshot
		switch {
		case s.Announced >= s.ClaimsVersion, r.docs.signal.ClaimsVersion > s.ClaimsVersion:
			return false, nil
		case r.docs.signal.ClaimsVersion == s.ClaimsVersion:
			return true, nil
		}
		doc, err := r.handler.cfg.Store.Put(ctx, signalRef(r.account), r.docs.signalDoc, signalOf(s, r.docs.at).fields())
		switch {
		case err == nil:
			r.did = true
			r.docs.hasSignal(doc)
			return true, nil
		case !refused(err):
			return false, err
		}
		if err := r.read(ctx); err != nil {
			return false, err
		}
		if err := r.moved(); err != nil {
			return false, err
		}
	}
	return false, contended()
}
