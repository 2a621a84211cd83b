package relay

import (
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// writes adds the settlement to the writes of its batch. A mark of delivery carries no
// precondition, because it is true whoever says it; everything else holds only for the
// record as it was read or last written.
func (st *settlement) writes(to []Write) []Write {
	e := st.entry
	r := e.rec
	base := look(e.outbox.ledger, func(m *feed.Machine) time.Time { return m.Changed(&e.Record) })
	st.sent = base
	w := Write{Collection: r.Outbox, ID: r.ID, Op: OpUpdate, IfUnchangedSince: base}
	switch st.kind {
	case settleDelivered:
		w.IfUnchangedSince = time.Time{}
		if e.outbox.spec.OnDelivered == contracts.DeleteDelivered || st.slim > 1 {
			w.Op = OpDelete
			break
		}
		w.Fields = map[string]any{contracts.FieldStatus: string(contracts.Delivered)}
		if st.slim == 0 {
			w.Fields[contracts.FieldDeliveredAt] = st.at
			w.Fields[contracts.FieldExpireAt] = st.at.Add(e.outbox.spec.Retention)
			w.Fields[contracts.FieldDeliveredTargets] = r.DeliveredTargets // all that there are
			if r.Attempts > 0 || e.forgiven {
				w.Fields[contracts.FieldNextAttemptAt] = nil
			}
			if e.forgiven {
				w.Fields[contracts.FieldAttempts] = r.Attempts
			}
		}
	case settleRetry:
		w.Fields = map[string]any{
			contracts.FieldStatus: string(contracts.Retrying), contracts.FieldAttempts: st.failed.attempts,
			contracts.FieldNextAttemptAt: st.failed.next,
		}
		if st.slim == 0 {
			w.Fields[contracts.FieldLastError] = st.failed.lastError
			w.Fields[contracts.FieldAttemptErrors] = errorList(st.failed.errors)
			if targets := reached(st.failed.targets, e.before); len(targets) > 0 {
				w.Fields[contracts.FieldDeliveredTargets] = targets
			}
		}
	case settleProgress:
		w.Fields = map[string]any{
			contracts.FieldStatus: string(contracts.Pending), contracts.FieldNextAttemptAt: nil,
		}
		if st.slim == 0 {
			w.Fields[contracts.FieldDeliveredTargets] = reached(r.DeliveredTargets, e.before)
			e.tellAttempts(w.Fields)
		}
	case settleHeld:
		w.Fields = map[string]any{contracts.FieldStatus: string(contracts.Held)}
		if st.slim == 0 {
			w.Fields[contracts.FieldNextAttemptAt] = nil
			if targets := reached(r.DeliveredTargets, e.before); len(targets) > 0 {
				w.Fields[contracts.FieldDeliveredTargets] = targets
			}
			e.tellAttempts(w.Fields)
		}
		return append(to, w, st.fence.Fence())
	case settleDead:
		return append(to, st.dead.writes(w, st)...)
	}
	return append(to, w)
}

// tellAttempts adds what is known of e's failed attempts to what is written of it: that may
// stand for a retry that was not written yet.
func (e *entry) tellAttempts(fields map[string]any) {
	if r := e.rec; r.Attempts > 0 || e.forgiven {
		fields[contracts.FieldAttempts] = r.Attempts
		fields[contracts.FieldLastError] = r.LastError
		fields[contracts.FieldAttemptErrors] = errorList(r.AttemptErrors)
	}
}

// cutDown makes the settlement smaller, for a document so close to Firestore's
// 1 MiB that it refuses more. It reports false when nothing is left to cut.
func (st *settlement) cutDown() bool {
	st.slim++
	switch st.kind {
	case settleDelivered:
		// Without its times; then the document goes, as its delivery is done, if
		// it is its size that stands in the way.
		if st.slim > 1 && len(st.entry.data) <= sizeable {
			st.slim = 1
			return false
		}
		return st.slim <= 2
	case settleDead:
		// Without the record's payload, then without most of its copy, then
		// without the list in the freeze, then without the freeze at all: whatever
		// stands in its way, the dead letter is written.
		return st.slim <= slimBare || st.slim <= slimUnfrozen && st.dead.item.Tier == contracts.SecurityBlock
	case settleRetry, settleProgress, settleHeld:
		return st.slim <= 1
	default:
		return false
	}
}

// sizeable is the envelope of a record that may fill Firestore's 1 MiB.
const sizeable = 512 << 10

func errorList(errs []contracts.AttemptError) []any {
	out := make([]any, len(errs))
	for i, e := range errs {
		out[i] = dlq.ErrorFields(e)
	}
	return out
}

// atLeast keeps the attempts and the deliveries that a document tells of: those of an
// owner before, whose marks came late, count too.
func (st *settlement) atLeast(d Doc) {
	e := st.entry
	now, _ := contracts.DecodeRecord(e.rec.Outbox, d.ID, d.fields())
	if st.kind == settleRetry {
		st.failed.attempts = max(st.failed.attempts, now.Attempts)
	}
	if now.IdempotencyKey == e.rec.IdempotencyKey {
		e.before = reached(e.before, now.DeliveredTargets)
	}
}

// reached returns targets with those of others that are not among them.
func reached(targets, others []string) []string {
	for _, t := range others {
		if !slices.Contains(targets, t) {
			targets = append(slices.Clip(targets), t)
		}
	}
	return targets
}

// retrySettlement says that e failed and is tried again at next.
func retrySettlement(e *entry, next, now time.Time) *settlement {
	return &settlement{entry: e, kind: settleRetry, at: now, size: 4096, failed: &failedAttempt{
		attempts: e.rec.Attempts, next: next, lastError: e.rec.LastError,
		errors: slices.Clone(e.rec.AttemptErrors), targets: slices.Clone(e.rec.DeliveredTargets),
	}}
}
