// Package feed decides what becomes of the records of an outbox: which of them are
// in memory, which were left in Firestore on purpose, and from where each lane is
// read on. It is a state machine: Machine.Step takes in one event and returns what
// is to be done about it. There is no I/O in it, no clock, no goroutine and no
// lock. Package relay is the shell around it, which reads, delivers and writes,
// hands back what happened, one event at a time, and carries the actions out.
//
// A Machine has the feeds of one share of an outbox, one Feed for each lane, as the
// records of an aggregate may stand in several lanes: how the aggregate stands with
// the freezes, and which of its records is leaving memory, is one answer for all of
// them.
//
// # The invariant
//
// A pending record that a feed has read past is in memory, or was settled, or stands
// behind a gate that reads it back: its place is between where the gate's begins and
// ends. Opening a gate reads from that place on. So nothing is
// forgotten whatever the backlog, and memory stays bounded. Besides:
//
//   - A record in memory is on one way: about to come into its lane, in it, being
//     settled, or leaving. Records are admitted one by one, and the next, the feed's
//     place and other records' passes wait until the one before is in its lane or was
//     refused there. One that leaves is behind a gate once it has left, and no younger
//     record of its aggregate is taken, or goes on to a target, until then.
//   - A record goes to a target that has a gate only with a pass of that gate. One gets
//     it when all older ones of its aggregate have it, or are in their lane before it.
//   - At its turn a record goes to no target that an older one of its aggregate misses
//     which had no turn in its lane yet: that was brought back while the run was made up.
//     Nor does it go where an older one of its run waits at a gate.
//   - Behind one that its lane refused, younger ones of its aggregate leave memory, until
//     that lane has none of it left; what another lane says does not count.
//   - A gate brings back only what its feed has read past: what the feed was sent back
//     for may be older.
//   - While the gate of a target is shut, a record in memory has its pass, to probe
//     for the others; a gate that no such record has is draining.
//   - The room that a feed's records take up is what its Memory was told.
//
// Machine.Check says what of this does not hold. The tests call it after every
// step.
package feed
