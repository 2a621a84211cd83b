// Package pubsub is the embedded cloud's Pub/Sub: the client library's own fake
// (pstest) behind a gRPC server of ours, which adds what the fake lacks.
//
//   - A fault switch: publishes to a topic fail, are delayed, or are applied with
//     their answer lost, for a time, a number of calls or a seeded share of them.
//   - Bounded memory. The fake keeps every message for good; here those that all
//     subscriptions have acknowledged are cleared from time to time.
//   - Pub/Sub's limits for one publish, answered as Pub/Sub answers them. The fake
//     alone stalls its client on a request over 4 MiB.
//   - Publish times that never repeat, so that an ordered subscription keeps the
//     order of messages published together.
//
// It is a convenience for one machine. Its dead-letter topics do not work, seek
// loses payloads, messages that no subscription takes vanish after ten minutes,
// and streaming delivery is slow: consume with Receive, which pulls.
package pubsub
