// Package simulation runs the relay itself, with its dead-letter queue and its
// leases, in virtual time: over a Firestore in memory and targets that misbehave,
// beside producers and operators, in instances that die and come back, all as a
// seed says. Judges follow what becomes of each record. It is all in tests; `make
// simulate` runs it for a million steps.
//
// A step is a call to Firestore as it is sent and as it is answered, a snapshot, a
// publish and its acknowledgement, or an append.
//
// # What goes wrong
//
// Firestore is strongly consistent, as the real one: a read shows what stood at one
// moment between the call and its answer. But its read time may be later than that
// moment, by less than a second; its answer may be seconds under way; commits may
// share a time; a commit may be applied though its answer is an error, or after
// whoever sent it gave up, ten seconds later at most, or be sent twice by the
// client; streams end, fall silent, open late and lag; delivered records expire. A
// record may become visible up to 0.4 s after its createdAt.
//
// Targets fail with any code, in part or altogether, hang, flap, refuse what is over
// a quota, and take what they answer with an error. Records fail by themselves, or
// break the contract.
//
// An instance is told to stop, or is killed at any of its steps: none of its calls
// has an effect any more, but for commits that were under way. One starts again
// later, under another name.
//
// In a crowded world everything takes whole milliseconds, so that much happens at one
// moment, and goroutines give way to others amid what they do; who is about to deliver
// stands still for a moment now and then.
//
// # What is judged
//
//   - lost: what is marked as delivered is at all of its targets; what is dead is a
//     dead letter; at the end nothing is anywhere else, unless its aggregate is frozen.
//   - order: the first arrivals at a target of the records of one outbox, lane and
//     aggregate, among those that were not dead-lettered.
//   - repeat: a target gets a record again only where the first answer was no
//     acknowledgement, who delivered it first was killed since, or one of its
//     commits, or of the reads that they wait for, was not answered well since, or
//     within two seconds; never by a process that started after the store knew.
//   - attempts: no more are counted than failed, and who is dead-lettered failed often
//     enough by itself, or before its target could be seen to be out.
//   - freeze: who froze an aggregate began to deliver nothing of it since the failure
//     that it was frozen for.
//   - memory: a process holds no more records than the lanes allow.
//   - reads: the documents of outboxes that are read follow from what happened, not from
//     how much stands there. The figures are those of the relay's tests of its bill: two
//     for each change, one for what stands there when an outbox is taken up or swept,
//     two pages when a target answers again, a window when a listener opens, and what
//     stands there as aggregates get on of which a lane refused some, or of which the
//     progress of some was written late.
//   - rest: once nothing fails any more, everything comes to its end within a quarter
//     of an hour, and nothing is left in memory.
//   - end: a process ends when it is told to, in time, and without an error.
package simulation
