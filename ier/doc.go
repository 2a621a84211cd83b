// Package ier is the Integration Event Router: it takes records of one
// aggregate and delivers each to the targets that still miss it.
//
// A [Router] fans a run of records out over its targets at the same time and
// keeps their order at each of them. In front of every target stands a circuit
// breaker, so that a sick target costs the lanes one probe now and then and no
// more. Every attempt yields a relay_lag sample.
//
// The Pub/Sub target and the sampler that publishes to a topic are in the
// sub-package pubsub; targets in process implement [Target] themselves.
package ier
