// Package image makes the service's container image without a daemon: the
// binary, CA roots, time zones and nothing else, as an OCI archive. What goes in
// is fixed by the source and by the Go release that builds it, down to each
// time stamp, so that two builds have one digest.
package image
