// Package trace tells the way of records: all that their outboxes, dead letters,
// alerts, freezes and the audit have of a trace, as one timeline.
package trace
