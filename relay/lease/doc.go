// Package lease decides which instance of the relay does the work of which
// share: an outbox, a shard of one, or the dead-letter queue's own chores.
//
// A share is owned through a lease document. Every write to it is a
// compare-and-set on its update time and carries a fresh nonce, so that of two
// who want it one succeeds, and a write whose answer was lost is recognised
// when it is read again. Its age is the server's read time minus its update
// time: no instance's wall clock takes part. An owner trusts its lease for 0.6
// of its term only, counted from the moment at which it sent the renewal that
// succeeded; others take it after the whole term. So a lost owner has begun
// nothing for 0.4 of a term when the next one begins.
//
// Who should own what is a pure function of the documents, which every
// instance computes alike (see plan). Instances that see different states of
// them disagree for a moment and do no harm: the compare-and-set decides.
package lease
