package claims

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// maxRounds bounds how often a step begins anew because another handler was
// faster. Two handlers at most have the same account for long, and each of them
// writes a handful of times.
const maxRounds = 10

// refresh carries one record out.
type refresh struct {
	handler *Handler
	record  *contracts.Record
	account string
	log     *zap.Logger
	took    []zap.Field // how long each step took

	docs documents
	held map[string]any // the user's claims as they were last seen
	// created is when the user was; zero: not known.
	created time.Time
	did     bool // something was written

	stands int64 // ClaimsVersion of the snapshot that the user's claims were set to
}

// documents are the account's, as they were last seen.
type documents struct {
	account, snapshotDoc, signalDoc Doc

	snapshot Snapshot
	signal   Signal
	at       time.Time // by the server's clock
}

// run takes the steps that the package's documentation numbers.
func (r *refresh) run(ctx context.Context, envelope []byte) (outcome string, err error) {
	payload, err := readPayload(r.record, envelope)
	if err != nil {
		return "", err
	}
	changed := false
	for range maxRounds {
		err = r.round(ctx, payload, &changed)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	switch {
	case errors.Is(err, errMoved):
		return "", contended()
	case err != nil:
		return "", err
	case changed:
		return outcomeChanged, nil
	case r.did:
		return outcomeCompleted, nil
	default:
		return outcomeUnchanged, nil
	}
}

// errMoved ends a round: another handler moved the snapshot on. Whether what this one carried out is still in there
// is seen by the next round.
var errMoved = errors.New("another handler moved the snapshot on")

// errDone ends a round with which all is done.
var errDone = errors.New("the record was carried out before")

// round takes the steps once, and ends with nil when the snapshot that was carried out is still there.
func (r *refresh) round(ctx context.Context, payload Parts, changed *bool) error {
	r.took = r.took[:0]
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{stepLookUp, func() error { return r.lookUp(ctx) }},
		{stepRead, func() error { return r.read(ctx) }},
		{stepCommit, func() error {
			differs, err := r.commit(ctx, payload)
			*changed = *changed || differs
			return err
		}},
		{stepSet, func() error { return r.set(ctx) }},
		{stepRevoke, func() error { return r.revoke(ctx) }},
		{stepAnnounce, func() error { return r.announce(ctx) }},
	} {
		start := time.Now()
		err := s.do()
		traceStep(ctx, s.name, start, err)
		if err != nil {
			return err
		}
		took := time.Since(start)
		r.handler.metrics.step.WithLabelValues(s.name).Observe(took.Seconds())
		r.took = append(r.took, zap.Duration(s.name, took))
	}
	return nil
}

// lookUp reads the user's claims. That comes before the documents are read: who
// sees the claims first and the snapshot second never mistakes a newer snapshot
// for one that is carried out.
func (r *refresh) lookUp(ctx context.Context) error {
	return r.handler.calls.do(ctx, callLookUp, func() (err error) {
		user, err := r.handler.cfg.Accounts.User(ctx, r.account)
		if err != nil {
			return fmt.Errorf("look up user: %w", err)
		}
		r.held, r.created = user.Claims, user.Created
		return nil
	})
}

// read reads the documents, all at one time.
func (r *refresh) read(ctx context.Context) error {
	docs, err := r.handler.cfg.Store.Get(ctx, accountRef(r.account), snapshotRef(r.account), signalRef(r.account))
	if err != nil {
		return err
	}
	r.docs = documents{account: docs[0]}
	r.docs.hasSnapshot(docs[1])
	r.docs.hasSignal(docs[2])
	return nil
}

func (d *documents) hasSnapshot(doc Doc) {
	d.snapshotDoc, d.snapshot, d.at = doc, readSnapshot(doc), doc.ReadTime
}

func (d *documents) hasSignal(doc Doc) {
	d.signalDoc, d.signal = doc, readSignal(doc)
}

// commit merges the record into the snapshot and stores it where it changed.
// Whether the record can be carried out is judged before. A commit whose answer
// was lost is found done by the next round, or by the next attempt.
func (r *refresh) commit(ctx context.Context, payload Parts) (changed bool, err error) {
	thin := payload.nothing()
	for range maxRounds {
		r.docs.snapshot = r.docs.snapshot.forUser(r.created)
		account, faults := readAccount(r.docs.account, thin, r.record.AggregateVersion)
		if thin {
			if err := r.judgeThin(account, faults); err != nil {
				return false, err
			}
		}
		c := change{rec: r.record, payload: payload, account: account, revoke: r.handler.revokes(r.record)}
		if r.docs.snapshot.leaves(c, r.held) {
			return false, errDone
		}
		next, differs := r.docs.snapshot.merge(c, r.held, max(r.docs.signal.ClaimsVersion, givenOut(r.held)))
		if names := contradicted(next.Parts, payload); len(names) > 0 {
			r.log.Warn("the account has another event of the same version, which stands: one of them has a wrong aggregateVersion",
				zap.Strings("parts", names), zap.Int64("aggregateVersion", r.record.AggregateVersion))
		}
		if !differs {
			return false, nil
		}
		if _, err := compose(next, r.held); err != nil {
			return false, err
		}
		stored, err := r.putSnapshot(ctx, next)
		if err != nil || stored {
			return true, err
		}
	}
	return false, contended()
}

// givenOut is the claimsVersion among a user's claims; 0: none that this handler
// can have set. After Firestore was restored from an export they may be ahead of
// its documents, and a client ignores what is below its own.
func givenOut(held map[string]any) int64 {
	version, err := strconv.ParseInt(canonical(held[fieldClaimsVersion]), 10, 64) // 7.0 is 7 to a client
	if err != nil || version < 0 || version > maxClaimsVersion {
		return 0
	}
	return version
}

// maxClaimsVersion is the largest integer that a token's JSON carries exactly.
const maxClaimsVersion = 1 << 53

// putSnapshot stores s, and reports false where somebody else was faster: then
// the documents are read anew.
func (r *refresh) putSnapshot(ctx context.Context, s Snapshot) (stored bool, err error) {
	doc, err := r.handler.cfg.Store.Put(ctx, snapshotRef(r.account), r.docs.snapshotDoc, s.fields())
	switch {
	case err == nil:
		r.did = true
		r.docs.hasSnapshot(doc)
		return true, nil
	case refused(err):
		return false, r.read(ctx)
	default:
		return false, err
	}
}

// set makes the user's claims equal the snapshot. Auth knows no condition: when another handler moved the snapshot
// on in the meantime, its claims may be the ones that were overwritten.
func (r *refresh) set(ctx context.Context) error {
	r.stands = r.docs.snapshot.ClaimsVersion
	want, err := compose(r.docs.snapshot, r.held)
	if err != nil {
		return err
	}
	if canonical(want) == canonical(r.held) {
		return nil
	}
	err = r.handler.calls.do(ctx, callSet, func() error { return r.handler.cfg.Accounts.SetClaims(ctx, r.account, want) })
	if err != nil {
		return fmt.Errorf("set claims: %w", err)
	}
	r.did = true
	if err := r.read(ctx); err != nil {
		return err
	}
	return r.moved()
}

// moved is errMoved where the snapshot is not that any more which the user's claims were set to.
func (r *refresh) moved() error {
	switch r.docs.snapshot.ClaimsVersion {
	case r.stands:
		return nil
	case 0: // somebody deleted it: the next attempt begins anew
		return contended()
	}
	return errMoved
}

// revoke revokes the user's refresh tokens where a change asks for it and none
// has done so since.
func (r *refresh) revoke(ctx context.Context) error {
	version := r.docs.snapshot.RevokeFor
	if r.docs.snapshot.Revoked >= version {
		return nil
	}
	err := r.handler.calls.do(ctx, callRevoke, func() error { return r.handler.cfg.Accounts.RevokeTokens(ctx, r.account) })
	if err != nil {
		return fmt.Errorf("revoke tokens: %w", err)
	}
	r.did = true
	return r.note(ctx, func(s *Snapshot) { s.Revoked = max(s.Revoked, version) })
}

// note changes the snapshot in place, as long as it is the one that stands.
func (r *refresh) note(ctx context.Context, change func(*Snapshot)) error {
	for range maxRounds {
		s := r.docs.snapshot
		change(&s)
		if stored, err := r.putSnapshot(ctx, s); err != nil || stored {
			return err
		}
		if err := r.moved(); err != nil {
			return err
		}
	}
	return contended()
}

func contended() error {
	return outage(CodeContended, "others changed the account's documents again and again")
}
