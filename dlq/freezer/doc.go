// Package freezer looks after SECURITY_BLOCK: the sibling that publishes the alerts,
// and finishes the releases of frozen aggregates.
package freezer
