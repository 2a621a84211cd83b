// Package sibling is what the goroutines have in common that run beside the relay
// and look after its dead letters: rounds of work at each bell and each poll,
// listeners that are rebuilt, retries that never give up, and panics that end them.
package sibling
