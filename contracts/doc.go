// Package contracts is the vocabulary of outbox-relay: the outbox record and
// its envelope, lanes, tiers, statuses, the three kinds of failure, and the
// catalog that says which event goes where. It imports no cloud SDK, so that a
// producer, a consumer or a test can use it alone.
package contracts
