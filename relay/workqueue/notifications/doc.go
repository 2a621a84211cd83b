// Package notifications dispatches in-app notifications: the events that a front end or
// a service puts into clients/{clientId}/condominiums/{condominiumId}/notificationEvents become a
// notification in the bell of each person that they are for.
//
// It is a vocabulary of a queue and the handler of its documents; package workqueue finds
// events, claims them, tries again and gives up.
//
// # The way of an event
//
// It is checked first: its path and its fields name the same tenant, somebody created it,
// its only channel is in_app. One that is wrong has all its faults in a dead letter at once, and is
// failed. Then its dedupeKey is looked for among what the tenant was sent within the window; then
// its audience is read; and then it is written, in commits of at most a batch:
//
//   - the queue document, with everybody that the event is for, before or together with the
//     first notifications;
//   - each notification, with the event's ID, beneath its person;
//   - how many of them are written, in the queue document;
//   - the event's end, with the last of them;
//   - the tenant's figures of the hour, with each.
//
// Each commit is made on the condition that the claim stands and that the queue document is as
// it was read, and goes on from where that says. So an audience of one batch costs one commit, and
// an event that was cut short between any two is completed by the next attempt, for the people
// that it was for at first: nobody has it twice, nobody none, and what a person has read or
// deleted since stays so.
//
// Two events of one tenant with the same dedupeKey meet in a marker, notificationDedupe/{hash of
// the key}, which the commit that makes a queue document writes on the condition that it is
// as it was read: one of two comes first, and the other reads again and is deduped.
//
// # What it costs
//
// An event for N people of a role, N within one batch: 4 + N reads (the event, its queue
// document, the marker, the query for the key) and 4 + N writes (the event, the queue
// document, the marker, the figures), beside those of the engine's listener and claim. Each
// further batch: 2 reads and 3 writes. The least possible is N writes of notifications, the
// claim and the end of the event, and N reads of people.
//
// # Defined ends
//
//	nobody with the role, all of them inactive  its creator has it
//	a condominium was deleted, but this event   its creator has it
//	a person named twice, or of two roles     has it once
//	a person named who is inactive            is left out
//	a person named without a document         has it
//	no dedupeKey                              is held against nothing
//	more than 20,000 people, or 800 KiB of IDs  failed, AUDIENCE_TOO_LARGE
//	a queue document of its ID is not its own  failed, QUEUE_ID_TAKEN
//	the event is deleted, or another has it   nothing more is written
//	a clock that is wrong                     plays no part: all times are the server's
//
// An event whose twin was dispatched first has its end with that twin: should the twin
// fail later, its dead letter stands for both.
package notifications
