// Package ier is the Integration Event Router: it takes records of one
// aggregate and delivers each to the targets that still miss it.
//
// A [Router] fans a run of records out over its targets at the same time and
// keeps their order at each of them. In front of every target stands a circuit
// breaker, so that a sick target costs the lanes one probe now and then and no
// more. Every attempt yields a relay_lag sample.
//
// # Whose failure it is
//
// While a breaker is not closed, no attempt counts for a record; while it is
// closed, three that count make a dead letter. So a breaker that opens too late turns an
// outage into dead letters, and one that opens for a poisoned record keeps that
// record alive for ever and its target from everybody. What a target answers is a hint
// and no proof: a broken proxy in front of it refuses everybody's records as invalid, and a message that is
// too large for its deadline runs into it each time, as in an outage. So the breaker also looks at who
// else fails. gobreaker keeps the states and counts; [breaker.count] asks, in this order:
//
//	a call failed       and                                                 then
//	as in an outage     it is one aggregate's, while others are answered    the record: outliers.go
//	as in an outage     the breaker is closed                               one more of the 5 in a row, or of half the calls, that open it
//	as the record's     three aggregates did, and it is the rule            the target: suspects.go
//	as the record's     the same ones did in five outages, and ended none   the records: culprits.go
//	in any way          it was a probe of an open breaker                   the target stays out
//	in any way          for long nobody probes but one or two, or culprits  the records, and the breaker closes: probes.go, doubts.go
//
// What a target calls the record's alone, see contracts.OwnOf, is an answer, and not looked at here.
// Each file has one judgement and a bounded memory for it, and says when it forgets; breaker_test.go
// and model_test.go have them together.
//
// The Pub/Sub target and the sampler that publishes to a topic are in the
// sub-package pubsub; targets in process implement [Target] themselves.
package ier
