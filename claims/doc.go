// Package claims is the CLAIMS_HANDLER target: it turns RoleChanged and
// PolicyChanged into the custom claims of the account's Firebase user, and tells
// the account's clients to fetch a new ID token.
//
// # Parts and versions
//
// Three parts make up an account's claims: its roles, its policies, and further
// claims. Each has a value and the aggregateVersion that it came from; an older
// version never takes the place of a newer one. The merged parts are kept in the
// relay's own collection, claims-snapshots. What payloads must hold is told in
// the README of package contracts. A user who was deleted leaves no part to the next one
// with the same uid, who is told by when Auth created it.
//
// # Steps of one record
//
//  1. Look up the user's claims; read the account's document, the snapshot and the
//     signal.
//  2. Merge, and commit the snapshot on condition that nobody changed it since. Until
//     the user's claims hold it, it is a proposal of this record alone, and beside it
//     stand the parts that were carried out before.
//  3. Make the user's claims equal the snapshot. Auth has no such condition, so
//     the snapshot is read again behind it; where another handler moved it on,
//     all begins anew. The last to look wins, and it looks at the newest.
//  4. Revoke the user's refresh tokens, where the event's route asks for it and a
//     right was taken away; note that.
//  5. Write the signal to token-refresh-signals.
//  6. Publish it to token-refresh-signal.
//  7. Note in the snapshot that it was announced.
//
// Each step asks what is there and does what lacks, so a record that was killed
// between two of them is completed by its next attempt; behind step 3 also by any other
// record of the account. Before it, another record leaves the proposal out: its own may
// have become a dead letter, that a person discards or never authorizes, and comes
// again otherwise. A repeat finds nothing to do and signals nothing. Only two things
// publish a signal twice, with the same eventId: a crash between steps 6 and 7,
// and two handlers, as a rolling deploy has them, that stand there at the same
// time for the same account.
//
// # Claims of others
//
// What is not the handler's is written back as it was read, to the digit: others
// may have numbers that no float64 holds.
//
// # Failures
//
// What the record is to blame for is permanent: reserved names, claims over 1,000
// bytes, a payload of another account or shape, an account's document that does not
// tell what became of a thin event's parts. What says nothing about the record is an
// outage: no network, no quota, no permission. All others count as attempts, and
// once these are exhausted the record is dead-lettered as CLAIMS_REFRESH_FAILED. An
// answer with Retry-After keeps the handler from calling Auth until then.
package claims
