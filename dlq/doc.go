// Package dlq is the dead-letter queue: what stands there, under which tier,
// and in which state.
package dlq
