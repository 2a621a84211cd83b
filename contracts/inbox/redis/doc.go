// Package redis keeps an inbox in Redis 6 or later, or what speaks like it.
//
// The key pf:evt:processed:<consumer>:<event_id> exists while an event is remembered as
// processed, as programs that use the short form alone expect it. What is not yet processed has
// a hash pf:evt:inbox:<consumer>:<event_id>, and each aggregate of which something is open a
// sorted set pf:evt:open:<consumer>:<aggregate_id>. All expire by themselves. Each call is
// one script: one round trip, and atomic. The scripts reach keys of several slots,
// which a Redis Cluster refuses: use one primary, with replicas or Sentinel.
//
// What Redis loses is forgotten: with its usual persistence a crash of it loses up to a
// second of marks, and a failover what was not replicated. Events of that time may be handled
// again when their messages come again.
package redis
